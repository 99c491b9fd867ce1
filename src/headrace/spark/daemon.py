"""Spark's Python daemon with our modules already imported: a forked worker then starts with them, and starts quickly.

Nothing is opened here: files and connections belong to the workers.
"""

from __future__ import annotations

import os

# No threads before a fork: numpy's library would start some when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pandas  # noqa: F401 - pyarrow looks for it when it makes its first array
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import headrace.spark.source
import headrace.spark.stage  # noqa: F401

if __name__ == "__main__":
    manager()
