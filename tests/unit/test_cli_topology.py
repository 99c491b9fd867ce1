"""`headrace describe` and `headrace check`: without Spark, on a user's file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headrace import StreamsBuilder, StreamsConfig
from headrace.log import Publication
from headrace.log.commits import TOPOLOGY
from headrace.log.embedded import EmbeddedLog
from headrace.resolve import resolved_data
from headrace.spark.commit import CommitRecord, encode

APP = """
from headrace import StreamsBuilder

builder = StreamsBuilder()
words = builder.stream("words", value=str)
{more}
words.group_by_key().count({options}).to_stream().to("counts")
topology = builder.build()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path)
    return tmp_path


def write(folder: Path, more: str = "", options: str = "") -> None:
    (folder / "app.py").write_text(APP.format(more=more, options=options))


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headrace.cli.main", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done


def test_describe_in_every_form(folder: Path) -> None:
    assert run(folder, "describe", "app.py").stdout.startswith("Topologies:\n   Sub-topology: 0\n")
    assert run(folder, "describe", "app.py", "--format", "mermaid").stdout.startswith("flowchart TD\n")
    done = run(
        folder, "describe", "app.py", "--format", "json", "--output", "out.json", "--save", "saved.json"
    )
    assert (done.returncode, done.stdout) == (0, "")
    shown, saved = (json.loads((folder / name).read_text()) for name in ("out.json", "saved.json"))
    assert shown["subtopologies"][0]["nodes"][0]["origin"].endswith("app.py:5")
    assert "origin" not in saved["subtopologies"][0]["nodes"][0]


def test_check_answers_with_a_code(folder: Path) -> None:
    run(folder, "describe", "app.py", "--save", "saved.json")
    assert run(folder, "check", "app.py", "--against", "saved.json").returncode == 0
    write(folder, more="words = words.filter(lambda key, word: word)")
    done = run(folder, "check", "app.py", "--against", "saved.json", "--save", "new.json")
    assert done.returncode == 3
    assert "moves state: store `KSTREAM-AGGREGATE-STATE-STORE-0000000001`" in done.stdout
    assert 'fix: give it the old name, for good: `store="KSTREAM-AGG' in done.stdout
    assert done.stdout.endswith("altogether: moves state\n")
    assert not (folder / "new.json").exists()
    done = run(folder, "check", "app.py", "--against", "saved.json", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["level"]) == (3, "moves")
    write(folder, more='words = builder.stream("words", value=int)')
    (folder / "app.py").write_text((folder / "app.py").read_text().replace("value=str", "value=int"))
    done = run(folder, "check", "app.py", "--against", "saved.json")
    assert done.returncode == 4
    assert "needs a reset: topic `words`: value: was written as string and is read as long" in done.stdout


def test_a_safe_version_takes_the_place_of_the_saved_one(folder: Path) -> None:
    run(folder, "describe", "app.py", "--save", "saved.json")
    before = (folder / "saved.json").read_text()
    write(folder, options='name="counting"')
    done = run(folder, "check", "app.py", "--against", "saved.json", "--save", "saved.json")
    assert done.returncode == 0, done.stdout
    assert "counting" not in before
    assert "counting" in (folder / "saved.json").read_text()


def test_mistakes_have_a_message(folder: Path) -> None:
    done = run(folder, "check", "app.py", "--against", "nowhere.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "`nowhere.json` cannot be read as a saved topology" in done.stderr
    done = run(folder, "describe", "nowhere.py")
    assert (done.returncode, done.stderr) == (1, "headrace: there is no file `nowhere.py`\n")


def test_check_compares_with_what_the_log_has_kept(folder: Path) -> None:
    done = run(folder, "check", "app.py")
    assert done.returncode == 1
    assert "the log knows no topology of application `app`: it has not run yet" in done.stderr
    assert not (folder / ".headrace").exists()
    builder = StreamsBuilder()
    builder.stream("words", value=str).group_by_key().count().to_stream().to("counts")
    config = StreamsConfig(application_id="app")
    kept = json.dumps(resolved_data(builder.build(), config, origins=False)).encode()
    with EmbeddedLog(folder / ".headrace" / "log") as log:
        publisher = log.publisher("app")
        record = encode(CommitRecord("i", 1, 0, {}))
        publisher.publish(Publication([], [], {}, lambda ends: record, {TOPOLOGY: kept}))
        publisher.close()
    assert run(folder, "check", "app.py").stdout == "no difference: safe\n"
    write(folder, options='store="counts"')
    assert run(folder, "check", "app.py").returncode == 3


def test_neither_needs_spark(folder: Path) -> None:
    code = (
        "import sys; from headrace.cli.main import main; main(['describe', 'app.py', '--save', 's.json']); "
        "main(['check', 'app.py', '--against', 's.json']); "
        "print([name for name in ('pyspark', 'pyarrow', 'lmdb', 'confluent_kafka') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "wrong.py",
            "x = 1\nfoo()\n",
            "raised NameError: name 'foo' is not defined\n  (at {folder}/wrong.py:2)",
        ),
        ("wrong.py", "x = 1\nfoo(\n", "raised SyntaxError: '(' was never closed (wrong.py, line 2)\n"),
        ("page.html", "", "headrace: `page.html` is not a Python file: its name must end with `.py`\n"),
        (
            "typo.py",
            APP.format(more="config = {'comit_interval': 1}", options=""),
            "no setting `comit_interval`; did you mean `commit_interval`? (in the options, or in `config` of `typo`)\n",
        ),
    ],
    ids=["a name", "the syntax", "no program", "a setting"],
)
def test_a_file_that_cannot_be_used_is_explained(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_text(text)
    done = run(folder, "run" if name == "typo.py" else "describe", name)
    assert done.returncode == 1
    assert message.format(folder=folder) in done.stderr
