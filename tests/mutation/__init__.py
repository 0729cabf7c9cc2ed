"""Mutation testing: makes one small change in the product, and looks whether a test fails.

python -m tests.mutation --map                          which tests run which function: once, and after large changes
python -m tests.mutation --sample 40 --seed 1           40 random changes; prints those that no test noticed
python -m tests.mutation --sample 40 --seed 1 --area lua

The map is made by the whole suite with Python 3.12 or newer, which can count functions at no cost. It is kept in
`var/mutation`. A change is made in a copy of the committed tree.
"""
