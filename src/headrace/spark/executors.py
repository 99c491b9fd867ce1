"""The executors of a session: sending them code, and how much they do at once."""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import replace

from pyspark.sql import SparkSession

from headrace.errors import StartError
from headrace.spark.bundle import headrace_zip, user_zip
from headrace.spark.hosts import is_one_host
from headrace.spark.ship import ModuleRef

logger = logging.getLogger("headrace")

SETTLED = 1.0
"""Seconds without another executor after which no more are waited for."""
PATIENCE = 10.0
"""Seconds after which it is said that there is none."""
_expected: dict[str, int] = {}
"""Spark's application -> how many tasks its executors ran at once, when there were the most."""


def send_code(spark: SparkSession, ref: ModuleRef | None) -> ModuleRef | None:
    """Let the workers have the user's code; on other machines also ours. Returns how they find the topology."""
    context = spark.sparkContext
    if is_one_host(context.master or ""):
        return ref
    context.addPyFile(str(headrace_zip()))
    user = user_zip()
    if user is not None:
        context.addPyFile(str(user))
    # Whatever a host has under the same path is not what is meant: only what was sent is.
    digest = "" if user is None else user.name
    return None if ref is None else replace(ref, file=None, root=None, digest=digest)


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once. On a cluster this waits for the executors that come at the start.

    One that is lost later does not count as gone: Spark gets another one for it.
    """
    context = spark.sparkContext
    if is_one_host(context.master or "") or context.getConf().contains("spark.default.parallelism"):
        return context.defaultParallelism
    application = context.applicationId or ""
    if application not in _expected:
        _wait_for_executors(spark)
    _expected[application] = max(_expected.get(application, 1), context.defaultParallelism)
    return _expected[application]


def _wait_for_executors(spark: SparkSession, timeout: float = 300) -> None:
    began = changed = time.monotonic()
    seen, told = 0, False
    while True:
        now = time.monotonic()
        count = sum(executors_by_host(spark).values())
        if count != seen:
            seen, changed = count, now
        if seen and now - changed >= SETTLED:
            return
        if not seen and not told and now - began >= PATIENCE:
            told = True
            logger.warning(
                "no executor has come yet from `%s`: are there enough free cores and memory?",
                spark.sparkContext.master,
            )
        if now - began >= timeout:
            raise StartError(
                f"no executor has come from `{spark.sparkContext.master}` within {timeout:g} s: see there whether "
                "it has enough free cores and memory (`spark.executor.cores`, `spark.executor.memory`), and whether "
                "the executors reach this machine (`spark.driver.host`)"
            )
        time.sleep(0.05)


def executors_by_host(spark: SparkSession) -> dict[str, int]:
    """How many executors each host has now."""
    context = spark.sparkContext
    addresses = str(context._jsc.sc().getExecutorMemoryStatus().keySet().mkString(" ")).split()
    hosts = Counter(address.rpartition(":")[0] for address in addresses)
    # Spark's driver is among them.
    hosts.subtract([context.getConf().get("spark.driver.host") or ""])
    return {host: count for host, count in hosts.items() if count > 0}
