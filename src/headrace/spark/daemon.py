"""Spark's Python daemon with our modules already imported: a forked worker then starts with them, and starts quickly.

Nothing is opened here: files and connections belong to the workers.
"""

from __future__ import annotations

import gc
import os
import socket

# No threads before a fork: numpy's library would start some when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pandas  # noqa: F401 - pyarrow looks for it when it makes its first array
import pyspark.daemon
import pyspark.worker

import headrace.spark.source
import headrace.spark.stage  # noqa: F401

_work = pyspark.daemon.worker


def _work_quietly(sock: socket.socket, authenticated: bool) -> int:
    """Spark closes workers that have been idle for a minute; that is no reason for a stack trace."""
    try:
        return _work(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        return 1


if __name__ == "__main__":
    # What is imported by now lives for ever: the collector, which Spark calls after every task, need not look at it.
    # And a batch makes many objects that die young; looking at them rarely took an eighth off the CPU of a batch.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    pyspark.daemon.worker = _work_quietly
    pyspark.daemon.manager()
