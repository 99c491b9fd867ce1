"""The archive of Spark's classes: who makes it, who uses it, and who has none. Java itself is not started here."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from headrace.spark.archive import archive_options, drop_archive, note_a_whole_run

OPTIONS = "-XX:+UseSerialGC"
MAGIC = b"\xa8\xab\x0b\xf0 and so on"


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """A folder that looks like a Java with an archive of its own classes."""
    home = tmp_path / "jdk"
    for file in ("bin/java", "lib/modules", "lib/server/classes.jsa"):
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).touch(mode=0o755)
    (home / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="17.0.1"\n')
    return home / "bin" / "java"


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    return tmp_path / "spark"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HEADRACE_JAVA_ARCHIVE", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "headrace" / "java"


def made_by(options: str) -> Path:
    """The file that Java is told to write."""
    flag = next(word for word in options.split() if "AtExit=" in word)
    return Path(flag.partition("=")[2])


def run(java: Path, spark: Path) -> str:
    """A run that comes to its end, with a Java that writes what it is told to."""
    options = archive_options(java, spark, OPTIONS)
    note_a_whole_run()
    if "AtExit" in options:
        made_by(options).write_bytes(MAGIC)
    return options


def test_the_first_run_pays_nothing_the_second_makes_it_and_the_third_uses_it(
    java: Path, spark: Path, cache: Path
) -> None:
    assert run(java, spark) == ""
    assert "-XX:ArchiveClassesAtExit=" in run(java, spark)
    used = run(java, spark)
    file = Path(used.split()[0].partition("=")[2])
    assert used == f"-XX:SharedArchiveFile={file} -Xlog:cds*=off"
    assert file.read_bytes() == MAGIC
    assert sorted(left.suffix for left in cache.iterdir()) == [".jsa", ".once"]


def long_ago(*files: Path) -> None:
    for file in files:
        os.utime(file, (time.time() - 7200, time.time() - 7200))


def test_a_run_without_batches_leaves_nothing_that_is_used(java: Path, spark: Path, cache: Path) -> None:
    run(java, spark)
    fresh = made_by(archive_options(java, spark, OPTIONS))
    fresh.write_bytes(MAGIC)  # its JVM has ended, but nothing was committed
    assert archive_options(java, spark, OPTIONS) == ""
    long_ago(fresh, *cache.glob("*.making"))
    assert "ArchiveClassesAtExit" in archive_options(java, spark, OPTIONS)
    assert not fresh.exists()


def test_an_archive_that_java_has_not_finished_is_not_used(java: Path, spark: Path, cache: Path) -> None:
    run(java, spark)
    fresh = made_by(archive_options(java, spark, OPTIONS))
    note_a_whole_run()
    fresh.write_bytes(b"\0" * 4096)
    assert archive_options(java, spark, OPTIONS) == ""
    fresh.write_bytes(MAGIC)
    assert "SharedArchiveFile" in archive_options(java, spark, OPTIONS)


def test_one_process_at_a_time_makes_it(java: Path, spark: Path) -> None:
    run(java, spark)
    first, second = archive_options(java, spark, OPTIONS), archive_options(java, spark, OPTIONS)
    assert "ArchiveClassesAtExit" in first
    assert second == ""


def test_another_spark_another_java_or_other_options_have_their_own(java: Path, spark: Path) -> None:
    run(java, spark)
    run(java, spark)
    assert "SharedArchiveFile" in archive_options(java, spark, OPTIONS)
    assert archive_options(java, spark, "-XX:+UseParallelGC") == ""
    os.utime(spark / "jars", (1, 1))  # such as by an update
    assert archive_options(java, spark, OPTIONS) == ""


def test_a_newer_java_is_kept_quiet_in_its_own_words(java: Path, spark: Path) -> None:
    (java.parents[1] / "release").write_text('JAVA_VERSION="25.0.2"\n')
    run(java, spark)
    assert archive_options(java, spark, OPTIONS).endswith(" -Xlog:cds*=off,aot*=off")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HEADRACE_JAVA_ARCHIVE", "off"),
        ("JAVA_TOOL_OPTIONS", "-XX:SharedArchiveFile=/mine.jsa"),
        ("SPARK_SUBMIT_OPTS", "-javaagent:/agent.jar"),
    ],
)
def test_whoever_says_otherwise_has_none(
    java: Path, spark: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    run(java, spark)
    run(java, spark)
    monkeypatch.setenv(name, value)
    assert archive_options(java, spark, OPTIONS) == ""


def test_without_a_folder_that_can_be_made_there_is_none(
    java: Path, spark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert run(java, spark) == ""
    assert run(java, spark) == ""


def test_a_java_without_an_archive_of_its_own_classes_makes_none(java: Path, spark: Path) -> None:
    (java.parents[1] / "lib/server/classes.jsa").unlink()
    assert run(java, spark) == ""
    assert run(java, spark) == ""


def test_an_archive_with_which_java_does_not_start_is_thrown_away(java: Path, spark: Path) -> None:
    for _ in range(3):
        run(java, spark)
    drop_archive()
    note_a_whole_run()
    assert "ArchiveClassesAtExit" in archive_options(java, spark, OPTIONS)
