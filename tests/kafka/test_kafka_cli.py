"""The same commands on a real broker."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.kafka.broker import Broker


def run(broker: Broker, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "headrace.cli.main",
        *arguments,
        "--bootstrap-servers",
        broker.bootstrap_servers,
    ]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def test_topics_produce_and_consume(broker: Broker, name: str) -> None:
    assert run(broker, "topics", "create", name, "--partitions", "1").returncode == 0
    assert f"{name}\t1" in run(broker, "topics", "list").stdout.splitlines()
    record = {"key": "k", "value": "v", "timestamp": 7, "headers": {"h": "x"}}
    run(broker, "produce", name, "--json", stdin=json.dumps(record))
    run(broker, "produce", name, stdin="a:1\n")
    assert run(broker, "consume", name).stdout == "k\tv\na\t1\n"
    shown = json.loads(run(broker, "consume", name, "--json", "--max", "1").stdout)
    assert shown == record | {"partition": 0, "offset": 0}
    assert run(broker, "topics", "describe", name).stdout.splitlines()[-1].split() == ["0", "0", "2"]
    assert run(broker, "topics", "delete", name).returncode == 0
    gone = run(broker, "consume", name)
    assert gone.returncode == 1
    assert f"topic `{name}` does not exist" in gone.stderr
    assert "Traceback" not in gone.stderr
    # On a shared cluster a topic is made on purpose only.
    refused = run(broker, "produce", name, stdin="a:1\n")
    assert refused.returncode == 1
    assert "headrace topics create" in refused.stderr


def test_a_group_of_commands_goes_on_where_it_stopped(broker: Broker, name: str) -> None:
    run(broker, "topics", "create", name, "--partitions", "1")
    run(broker, "produce", name, stdin="a:1\nb:2\nc:3\n")
    assert run(broker, "consume", name, "--group", name, "--max", "2").stdout == "a\t1\nb\t2\n"
    assert run(broker, "consume", name, "--group", name).stdout == "c\t3\n"
    again = run(broker, "consume", name, "--group", name, "--reset", "--max", "1")
    assert (again.stdout, again.stderr) == ("a\t1\n", "")
