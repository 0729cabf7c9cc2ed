"""Soak test: processes work for minutes while faults kill, stop and restart them; then each task is accounted for.

python -m tests.soak --minutes 10 --seed 7
"""
