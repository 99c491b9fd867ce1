"""The Spark session, set up for small batches and no state of Spark's own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from headrace.disk import temporary_room
from headrace.spark.archive import archive_options, drop_archive, note_a_whole_run
from headrace.spark.bundle import headrace_zip
from headrace.spark.full_disk import spark_room
from headrace.spark.handed import beside, check_session, refuse_speculation
from headrace.spark.hosts import is_one_host
from headrace.spark.java import find_java
from headrace.spark.shims import folder, java_home, python

SETTINGS = {
    # One Spark partition is one slot of tasks: nothing may merge or split them.
    "spark.sql.adaptive.enabled": "false",
    # Delayed acknowledgements on loopback TCP cost 40 ms for every Python task.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # The planner itself waits for input; the engine's own pause is where a stop can interrupt it without harm.
    "spark.sql.streaming.pollingDelay": "10ms",
    # Workers are forked from a daemon that has imported our modules.
    "spark.python.daemon.module": "headrace.spark.daemon",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Nobody looks at Spark's own page: it need not be kept up to date with every task, nor explain every plan.
    "spark.ui.liveUpdate.period": "-1",
    "spark.sql.ui.explainMode": "simple",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.sql.ui.retainedExecutions": "10",
    # Packed rows: few and large. Compressing them costs more than it saves on one machine.
    "spark.shuffle.compress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.driver.memory": "2g",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    # A few dozen packed rows do not repay generated code: compiling it is most of the first batch.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # With an executor its shuffle files are lost, and tasks run again. What they write then is never quite the same,
    # and a batch must not be half of the one and half of the other.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
}

HERE = {"spark.locality.wait": "0"}
ELSEWHERE = {
    # Tasks prefer the host of their stores, not that of the reader, and wait a little for it.
    "spark.locality.wait": "3s",
    "spark.shuffle.reduceLocality.enabled": "false",
}

PATH = "spark.executorEnv.PYTHONPATH"
NEEDED = frozenset(key for key in SETTINGS if key.startswith(("spark.sql.", "spark.python."))) | {PATH}
"""Without these it would not work, or not well, whatever else is said."""

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""In the environment of a script that `spark-submit` runs."""

DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto"
"""The JVM only moves packed rows: start quickly and leave the cores to Python."""

LOG4J = """\
rootLogger.level = {level}
logger.repl.name = org.apache.spark.api.python.PythonGatewayServer
logger.repl.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Session: TypeAlias = SparkSession
"""What the rest of the package calls a session, so that only this package knows Spark."""

_ours: SparkSession | None = None
_users = 0
_lock = threading.Lock()


def spark_settings() -> dict[str, str]:
    """What a session of your own is best started with, if applications are to run on it.

    >>> spark_settings()["spark.sql.adaptive.enabled"]
    'false'
    """
    return dict(SETTINGS)


def session(
    master: str | None,
    name: str,
    more: Mapping[str, str],
    *,
    verbose: bool = False,
    given: SparkSession | None = None,
) -> SparkSession:
    """A session for an application: on the one that was given, else on the Spark that runs in this process already,
    else a new one. Give it back with `release`.
    """
    global _ours, _users
    with _lock:
        if given is not None:
            check_session(given)
        found = _running() if given is None else given
        if found is None:
            here = Path(tempfile.gettempdir())
            with temporary_room(here, "Spark needs some room to start"), spark_room(more.get, one_host=True):
                found = _ours = _new_session(master, name, more, verbose=verbose)
        if not _is_ours(found):
            return beside(found, SETTINGS, more)
        _users += 1
        return found


def _running() -> SparkSession | None:
    """Whatever thread asks: the active session is a matter of each."""
    context = SparkContext._active_spark_context
    if context is None or context._jsc is None:
        return None
    if _ours is not None and _ours.sparkContext is context:
        return _ours
    return SparkSession.getActiveSession() or SparkSession(context)


def _is_ours(spark: SparkSession) -> bool:
    return _ours is not None and spark.sparkContext is _ours.sparkContext


def release(spark: SparkSession, *, worked: bool = False) -> None:
    """The last one to give back a session that was started here stops it; a session of the user's stays. Say whether
    batches have `worked` on it.
    """
    global _ours, _users
    with _lock:
        if not _is_ours(spark):
            return
        if worked:
            note_a_whole_run()
        _users -= 1
        if _users == 0:
            _ours = None
            left = _work_folder(spark)
            with contextlib.suppress(Py4JError, OSError):  # its process may be gone already
                spark.stop()
            if left is not None:
                shutil.rmtree(left, ignore_errors=True)


def _work_folder(spark: SparkSession) -> Path | None:
    """What Spark's small cluster on one machine leaves in Spark's own folder: logs and copies of shipped files."""
    context = spark.sparkContext
    if not master_of(spark).startswith("local-cluster") or context.applicationId is None:
        return None
    return Path(_find_spark_home()) / "work" / context.applicationId


def planned_master(master: str | None) -> str:
    """The master of the session that there is, or of the one that `session` would make."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return master_of(active)
    if master is None and SUBMITTED in os.environ:
        SparkContext._ensure_initialized()
        return SparkConf().get("spark.master") or _here()
    return master or _here()


def master_of(spark: SparkSession) -> str:
    """Which cluster a session runs on."""
    return spark.sparkContext.master or ""


def _here() -> str:
    # A lost worker is tried again: `local[n,4]` allows four failures of a task, `local[n]` none.
    return f"local[{cores()},4]"


def driver_host(spark: SparkSession) -> str | None:
    """The name under which workers on other machines find this one; None when all of them are here."""
    return None if is_one_host(master_of(spark)) else spark.sparkContext.getConf().get("spark.driver.host")


def _new_session(master: str | None, name: str, more: Mapping[str, str], *, verbose: bool) -> SparkSession:
    if SUBMITTED in os.environ:
        return _submitted_session(master, name, more)
    refuse_speculation(more.get("spark.speculation"))
    master = master or _here()
    java = find_java()
    os.environ["JAVA_HOME"] = java_home(java)
    options = f"{_log4j(verbose)} {JVM_OPTIONS}"
    settings = {DRIVER_OPTIONS: options, **settings_for(master, more)}
    archive = archive_options(java, Path(_find_spark_home()), JVM_OPTIONS)
    if is_one_host(master):
        os.environ.setdefault("PYSPARK_PYTHON", python())
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # On one machine the workers find every module that this process finds.
        os.environ["PYTHONPATH"] = os.pathsep.join(
            dict.fromkeys(str(Path(entry).resolve()) for entry in sys.path)
        )
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if settings[DRIVER_OPTIONS] == options and archive:
        try:
            spark = _start(master, name, {**settings, DRIVER_OPTIONS: f"{options} {archive}"})
        except PySparkRuntimeError:
            drop_archive()
            spark = _start(master, name, settings)
    else:
        spark = _start(master, name, settings)
    spark.sparkContext.setLogLevel("WARN" if verbose else "OFF")
    if not verbose:
        _silence_threads(spark)
    return spark


def _start(master: str, name: str, settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    # Read by the launcher before there is a session; the console stays the user's.
    os.environ["PYSPARK_SUBMIT_ARGS"] = _submit_arguments(settings)
    return _create(builder)


def _submitted_session(master: str | None, name: str, more: Mapping[str, str]) -> SparkSession:
    """Inside `spark-submit`, which has started the JVM and knows the master: what it was told comes first."""
    SparkContext._ensure_initialized()
    told = SparkConf()
    if master is not None:
        told.setMaster(master)
    if not told.contains("spark.app.name"):
        told.setAppName(name)
    path = {PATH: told.get(PATH) or ""} if told.contains(PATH) else {}
    for key, value in settings_for(told.get("spark.master") or "", {**path, **more}).items():
        if key in NEEDED or key in more or not told.contains(key):
            told.set(key, value)
    refuse_speculation(told.get("spark.speculation"))
    return _create(SparkSession.builder.config(conf=told))


def _create(builder: SparkSession.Builder) -> SparkSession:
    interrupt = signal.getsignal(signal.SIGINT)
    spark = builder.getOrCreate()
    if threading.current_thread() is threading.main_thread():
        # Spark would answer Ctrl-C by breaking off the running batch.
        signal.signal(signal.SIGINT, interrupt)
    return spark


def settings_for(master: str, more: Mapping[str, str]) -> dict[str, str]:
    """What an application needs or likes, under what the user says."""
    settings = {**SETTINGS, "spark.executor.extraJavaOptions": JVM_OPTIONS}
    if is_one_host(master):
        return {**settings, **HERE, **more}
    # The daemon that forks the workers finds this package in the folder into which Spark brings it.
    path = os.pathsep.join(filter(None, (headrace_zip().name, more.get(PATH))))
    return {**settings, **ELSEWHERE, **more, PATH: path}


class _Silence:
    """Java's `Thread.UncaughtExceptionHandler`: a query that is stopped dies with a stack trace on the user's terminal.

    What matters reaches us through the query itself.
    """

    def uncaughtException(self, thread: Any, error: Any) -> None:  # noqa: N802 - Java's name
        pass

    class Java:
        implements: ClassVar = ["java.lang.Thread$UncaughtExceptionHandler"]


def _silence_threads(spark: SparkSession) -> None:
    context = spark.sparkContext
    ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]
    context._jvm.java.lang.Thread.setDefaultUncaughtExceptionHandler(_Silence())  # type: ignore[union-attr]


def _submit_arguments(settings: Mapping[str, str]) -> str:
    early = ("spark.driver.memory", DRIVER_OPTIONS)
    parts = [f'--conf "{key}={settings[key]}"' for key in early if key in settings]
    return " ".join([*parts, "pyspark-shell"])


def _log4j(verbose: bool) -> str:
    level = "WARN" if verbose else "OFF"
    file = folder() / f"log4j2-{level.lower()}.properties"
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(f".{os.getpid()}")
    fresh.write_text(LOG4J.format(level=level))
    fresh.replace(file)
    return f"-Dlog4j2.configurationFile={file.as_uri()}"
