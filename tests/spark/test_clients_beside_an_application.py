"""While an application runs, commands and programs in other processes fill its topics and read its results."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from headrace import Admin, Consumer, Producer, StreamsBuilder
from tests.spark.harness import Application
from tests.spark.harness.application import TIMEOUT

COMMAND = [sys.executable, "-m", "headrace.cli.main"]
FROM_THE_FIRST_TO_THE_SIXTH = [
    "--value-type",
    "long",
    "--group",
    "g",
    "--follow",
    "--from-beginning",
    "--max",
    "6",
]


def test_commands_and_programs_beside_a_running_application(
    application: Callable[..., Application], tmp_path: Path
) -> None:
    builder = StreamsBuilder()
    words = builder.stream("words", value=str)
    words.group_by(lambda key, word: word).count(store="counts").to_stream().to("counts")
    folder = ["--data-dir", str(tmp_path)]
    with application(builder.build()):
        with subprocess.Popen(
            [*COMMAND, "consume", "counts", *folder, *FROM_THE_FIRST_TO_THE_SIXTH],
            stdout=subprocess.PIPE,
            text=True,
        ) as consumer:
            try:
                produced = subprocess.run(
                    [*COMMAND, "produce", "words", *folder, "--no-key"],
                    input="a\nb\na\n",
                    text=True,
                    check=True,
                )
                assert produced.returncode == 0
                with Producer[None, str](data_dir=tmp_path) as producer, producer.transaction():
                    for word in ("b", "b", "c"):
                        producer.send("words", None, word)
                found, _ = consumer.communicate(timeout=TIMEOUT)
            finally:
                consumer.kill()
        assert sorted(line.split("\t") for line in found.splitlines()) == [
            *(["a", "1"], ["a", "2"], ["b", "1"], ["b", "2"], ["b", "3"], ["c", "1"])
        ]
        described = subprocess.run(
            [*COMMAND, "topics", "describe", "counts", *folder], capture_output=True, text=True, check=True
        )
        assert sum(int(line.split()[2]) for line in described.stdout.splitlines()[-4:]) == 6
        with Producer[None, str](data_dir=tmp_path) as producer:
            producer.send("words", None, "c")
        with Consumer[str, int]("counts", value=int, group="g", data_dir=tmp_path) as reader:
            records = reader.records(timedelta(seconds=TIMEOUT))
            assert [(record.key, record.value) for record in [next(records)]] == [("c", 2)]
        with Admin(data_dir=tmp_path) as admin:
            assert {"words", "counts", "app-counts-changelog", "app-commits"} <= set(admin.topics())
    dumped = subprocess.run(
        [*COMMAND, "consume", "words", *folder, "--json"], capture_output=True, text=True, check=True
    )
    assert sorted(json.loads(line)["value"] for line in dumped.stdout.splitlines()) == list("aabbbcc")
