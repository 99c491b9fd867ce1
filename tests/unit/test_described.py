"""The source on its way through Spark's processes: described without our code, and read with it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark import cloudpickle

from headrace.spark import described
from headrace.spark.source import HeadraceReader

OPTIONS = {"application": "an application", "progress": "/progress", "one_host": "true", "modules": ""}
IMPORTED = (
    "print(sorted(m for m in sys.modules if m.partition('.')[0] in ('headrace', 'pyarrow', 'msgspec')))"
)


class Catalog:
    """Takes what Spark would take."""

    def register(self, source: type) -> None:
        self.registered: bytes = cloudpickle.dumps(source)  # type: ignore[no-untyped-call]


class Session:
    """As much of a session as registering needs."""

    def __init__(self) -> None:
        self.dataSource = Catalog()


def in_a_process(code: str, folder: Path, *arguments: str) -> str:
    program = (
        f"import sys, pickle\nfrom pathlib import Path\nfrom pyspark import cloudpickle\n{code}\n{IMPORTED}"
    )
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout.strip()


def test_processes_that_only_describe_the_source_import_nothing_of_ours(tmp_path: Path) -> None:
    session: Any = Session()
    described.register(session)
    (tmp_path / "class").write_bytes(session.dataSource.registered)
    create = (
        "source = pickle.loads(Path('class').read_bytes())\n"
        f"made = source(options={OPTIONS!r})\n"
        "assert source.name() == 'headrace' and 'payload binary' in made.schema()\n"
        "Path('source').write_bytes(cloudpickle.dumps(made))"
    )
    assert in_a_process(create, tmp_path, "pyspark.sql.worker.create_data_source") == "[]"
    plan = (
        "source = pickle.loads(Path('source').read_bytes())\n"
        "reader = source.streamReader(None)\n"
        "Path('command').write_bytes(cloudpickle.dumps((source, reader)))"
    )
    assert in_a_process(plan, tmp_path, "pyspark.sql.worker.plan_data_source_read") == "[]"
    source, reader = pickle.loads((tmp_path / "command").read_bytes())
    assert isinstance(reader, HeadraceReader)
    assert (reader.application, reader.progress_path) == ("an application", "/progress")
    assert type(source) is described.HeadraceSource
    assert not source.options  # every task would carry them


def test_the_process_that_plans_gets_the_reader_itself(tmp_path: Path) -> None:
    session: Any = Session()
    described.register(session)
    source = pickle.loads(session.dataSource.registered)(options=OPTIONS)
    assert isinstance(source.streamReader(None), HeadraceReader)


def test_elsewhere_the_class_travels_by_its_name() -> None:
    described.register(Session())  # type: ignore[arg-type]
    assert pickle.loads(cloudpickle.dumps(described.HeadraceSource)) is described.HeadraceSource  # type: ignore[no-untyped-call]
