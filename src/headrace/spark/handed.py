"""A session of the user's own: what of its settings matters, and what can be set beside it.

Its SQL settings stay as they are: an application runs in a session of its own over the same Spark context, and the
settings of that are ours. Those of the context are as the user has chosen; some only cost time, some cannot be.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from headrace.errors import StartError

logger = logging.getLogger("headrace")

UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def check_session(given: Any) -> None:
    """That it is a session on which a query can run at all."""
    if not isinstance(given, SparkSession):
        kind = f"{type(given).__module__}.{type(given).__qualname__}"
        if "connect" in kind:
            raise StartError(
                f"`spark` must be a session with a driver in this process, got one of Spark Connect (`{kind}`): make "
                "it with `SparkSession.builder.master(...)`, without `remote(...)`"
            )
        raise StartError(f"`spark` must be a `SparkSession`, got `{kind}`")
    if given.sparkContext._jsc is None or given.sparkContext._jsc.sc().isStopped():
        raise StartError("the `spark` session that was handed in is stopped: start a new one")


def refuse_speculation(said: str | None) -> None:
    """StartError where Spark is to try slow tasks twice at a time."""
    if (said or "false").strip().lower() == "true":
        raise StartError(
            "this Spark runs slow tasks twice (`spark.speculation`), and two copies of a task would write the same "
            "local stores: start it with `spark.speculation=false`"
        )


def beside(given: SparkSession, ours: Mapping[str, str], wanted: Mapping[str, str]) -> SparkSession:
    """A session over the same context: `ours` and `wanted` as far as they can be set, a warning or an error where not.

    `wanted` are the user's own settings for the application.
    """
    check_session(given)
    has = given.sparkContext.getConf()
    refuse_speculation(has.get("spark.speculation"))
    slow = [
        f"{name}={value}"
        for name, value in ours.items()
        if name.startswith(("spark.python.", "spark.locality.")) and has.get(name) != value
    ]
    slow += [
        f"{name}=true"
        for name in ("spark.python.worker.reuse", "spark.python.use.daemon")
        if has.get(name, "true") == "false"
    ]
    if slow:
        logger.warning(
            "this Spark was started without settings that make small batches quick, and they cannot be changed any "
            "more: %s; `headrace.spark_settings()` has them all",
            ", ".join(slow),
        )
    session = given.newSession()
    for name, value in {**ours, **wanted}.items():
        if session.conf.isModifiable(name):
            session.conf.set(name, value)
    late = [
        name
        for name, value in wanted.items()
        if not session.conf.isModifiable(name) and has.get(name) != value
    ]
    if late:
        logger.warning(
            "this Spark runs already, so these settings of `spark` come too late: %s", ", ".join(late)
        )
    return session


def cannot_be_loaded(said: str, python: str) -> StartError:
    """Spark could not make our source in the Python of its workers: mostly that is another one than this.

    >>> said = "[PYTHON_DATA_SOURCE_ERROR] no\\n  File x\\nModuleNotFoundError: No module named 'msgspec'\\n\\tat org"
    >>> print(cannot_be_loaded(said, "python3").message.partition(":")[0])
    the Python of Spark's workers (`python3`) cannot load Headrace (ModuleNotFoundError
    """
    told = re.findall(r"^\s*([\w.]*(?:Error|Exception): .*)$", said, re.MULTILINE) or said.splitlines()[:1]
    return StartError(
        f"the Python of Spark's workers (`{python}`) cannot load Headrace ({' '.join(told[-1:])}): set PYSPARK_PYTHON "
        f"to one that has the same packages, such as `{sys.executable}`, before the session is started"
    )


def warn_of_small_results(spark: SparkSession, batch_bytes: int) -> None:
    """The driver collects what a batch has written, and Spark ends a query that sends it too much."""
    said = spark.sparkContext.getConf().get("spark.driver.maxResultSize", "1g") or "1g"
    found = re.fullmatch(r"(\d+)([bkmgt]?)b?", said.strip().lower())
    size = int(found[1]) * UNITS[found[2]] if found else 0
    if 0 < size < 4 * batch_bytes:
        logger.warning(
            "`spark.driver.maxResultSize` is %s: a batch of %d MB may write more than that; raise it, or lower "
            "`max_batch_bytes`",
            said,
            batch_bytes // 1024**2,
        )
