"""The applications that are killed, one of each kind of topology, as files for `headrace run`.

They commit at most once in each millisecond of a clock that a test moves by hand, so a test decides what a batch holds.
Some batches are small, and done by one task of Spark; others go through stages and shuffles.
"""
