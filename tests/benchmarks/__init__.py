"""What QueueOps costs, measured beside its peers: `python -m tests.benchmarks --help`.

One server, one machine, one run. Rounds are interleaved (every system once, then again), a figure is the median of
its rounds, and nothing runs longer than its budget: a system that is slower is rated by what it got done.
"""
