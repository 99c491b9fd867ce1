"""Producers and consumers on the embedded log."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from client_processes import consume
from clients_contract import ClientsContract, Where, admin
from log_processes import begin

from headrace import Admin, Consumer, Producer
from headrace.errors import ConfigError, LogError

__all__ = ["admin"]


def sent(where: Where, topic: str, numbers: Iterable[int]) -> None:
    with Producer[str, int](**where) as producer:
        for number in numbers:
            producer.send(topic, f"k{number}", number)


@pytest.fixture
def where(tmp_path: Path) -> Where:
    return {"data_dir": tmp_path}


@pytest.fixture
def name() -> str:
    return "t"


class TestContract(ClientsContract):
    pass


def test_members_that_are_killed_leave_their_part_to_the_others(tmp_path: Path) -> None:
    """Nothing is left out; what is read twice was in the hands of a member when it was killed."""
    with Admin(data_dir=tmp_path) as admin:
        admin.create_topic("t", partitions=5)
    sent(where={"data_dir": tmp_path}, topic="t", numbers=range(3_000))
    chance = random.Random(3)
    members: list[BaseProcess] = []
    try:
        for number in range(12):
            members.append(begin(consume, tmp_path, "g", f"m{number}", number))
            time.sleep(chance.uniform(0.02, 0.1))
            if len(members) > 2:
                victim = members.pop(chance.randrange(len(members)))
                victim.kill()
                victim.join()
        with Consumer[str, int](
            "t", value=int, group="other", data_dir=tmp_path, from_beginning=True
        ) as all_of_it:
            wanted = {(record.partition, record.offset) for record in all_of_it.read_to_end()}
        assert len(wanted) == 3_000
        deadline = time.monotonic() + 60
        while (seen := noted(tmp_path)).keys() != wanted and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        for member in members:
            member.kill()
            member.join()
    assert seen.keys() == wanted
    again = sum(count - 1 for count in seen.values())
    assert again <= 10 * 8, "ten were killed, with at most eight records in hand"


def noted(folder: Path) -> Counter[tuple[int, int]]:
    """How often each place was handed out, over all members."""
    found: Counter[tuple[int, int]] = Counter()
    for file in folder.glob("*.seen"):
        for line in file.read_text().splitlines():
            partition, offset = line.split()
            found[int(partition), int(offset)] += 1
    return found


def test_an_application_is_no_group(tmp_path: Path) -> None:
    with Admin(data_dir=tmp_path) as admin:
        admin.create_topic("t")
        publisher = admin._log.publisher("fraud")
        publisher.close()
    with pytest.raises(ConfigError, match="group `fraud` is an application"):
        Consumer[str, bytes]("t", group="fraud", data_dir=tmp_path)


@pytest.mark.parametrize("group", ["../up", "a/b c", "ä" * 100, "x" * 200])
def test_a_group_may_have_any_name(tmp_path: Path, group: str) -> None:
    where: Where = {"data_dir": tmp_path / "data"}
    with Admin(**where) as admin:
        admin.create_topic("t", partitions=1)
    sent(where, "t", range(3))
    for expected in ([0, 1], [2]):
        with Consumer("t", value=int, group=group, from_beginning=True, **where) as consumer:
            assert [record.value for record in consumer.poll(max_records=2)] == expected
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_topic_made_anew_was_not_read(tmp_path: Path) -> None:
    where: Where = {"data_dir": tmp_path}
    with Admin(**where) as admin:
        admin.create_topic("t", partitions=1)
        sent(where, "t", range(5))
        settings: Where = {"value": int, "group": "g", "from_beginning": True, **where}
        with Consumer[str, int]("t", **settings) as consumer:
            assert len(list(consumer.read_to_end())) == 5
        admin.delete_topic("t")
        admin.create_topic("t", partitions=1)
        sent(where, "t", range(3))
        with Consumer[str, int]("t", **settings) as consumer:
            assert len(list(consumer.read_to_end())) == 3


def test_a_reader_makes_no_log(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="there is no log in"):
        Consumer[str, bytes]("t", data_dir=tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(ConfigError, match="no `bootstrap_servers`"):
        Producer[str, str](kafka={"client.id": "x"})


def test_a_full_disk_reaches_the_sender_and_nothing_that_was_sent_is_lost(tmp_path: Path) -> None:
    code = """
        import resource, sys, time
        from headrace import Admin, Producer
        from headrace.errors import LogError
        Admin(data_dir=sys.argv[1]).create_topic("t", partitions=1)
        producer = Producer(data_dir=sys.argv[1])
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, unlimited[1]))
        sent = 0
        try:
            while True:
                producer.send("t", str(sent), bytes(100_000))
                sent += 1
        except LogError as error:
            print(error)
        try:
            producer.flush()
        except LogError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        producer.close()
        print(sent)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    first, second, count = done.stdout.splitlines()
    assert "is full" in first
    assert "is full" in second
    with Consumer[str, bytes]("t", data_dir=tmp_path, from_beginning=True) as consumer:
        # The last one may have been taken before its sender was told of the full disk.
        assert [int(record.key) for record in consumer.read_to_end()][: int(count)] == list(range(int(count)))


def test_a_program_that_just_ends_loses_nothing(tmp_path: Path) -> None:
    code = """
        import sys
        from datetime import timedelta
        from headrace import Admin, Producer
        Admin(data_dir=sys.argv[1]).create_topic("t")
        producer = Producer(data_dir=sys.argv[1], linger=timedelta(hours=1))
        producer.send("t", "a", 5)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    with Consumer("t", value=int, data_dir=tmp_path, from_beginning=True) as consumer:
        assert [record.value for record in consumer.read_to_end()] == [5]


def test_what_cannot_be_written_at_the_end_is_counted(tmp_path: Path) -> None:
    with Admin(data_dir=tmp_path) as admin:
        admin.create_topic("t")
        producer = Producer[str, int](data_dir=tmp_path, linger=timedelta(hours=1))
        producer.send("t", "a", 1)
        producer.flush()
        admin.delete_topic("t")
        producer.send("t", "a", 2)
        with pytest.raises(LogError, match="`t` does not exist"):
            producer.flush()
        with pytest.raises(
            LogError, match=r"`t` does not exist(.|\n)*1 records that were sent are not written"
        ):
            producer.close()


def test_a_producer_keeps_the_log_in_shape(tmp_path: Path) -> None:
    """A log that only short programs write to is compacted and shortened as they end."""
    where: Where = {"data_dir": tmp_path}
    with Admin(**where) as admin:
        admin.create_topic("newest", partitions=1, cleanup_policy="compact")
        admin.create_topic("short", partitions=1, retention_bytes=0)
    with Producer[str, int](**where) as producer:
        for number in range(10):
            producer.send("newest", "k", number)
            producer.send("short", "k", number)
            producer.flush()
    for topic in ("newest", "short"):
        with Consumer[str, int](topic, value=int, from_beginning=True, **where) as consumer:
            assert [record.value for record in consumer.read_to_end()] == [9]


def test_many_records_in_order_from_several_threads(tmp_path: Path) -> None:
    where: Where = {"data_dir": tmp_path}
    with Admin(**where) as admin:
        admin.create_topic("t", partitions=3)
    with Producer[str, int](**where) as producer:

        def work(name: str) -> None:
            for number in range(5_000):
                producer.send("t", name, number)

        threads = [threading.Thread(target=work, args=(f"thread-{number}",)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with Consumer[str, int]("t", value=int, from_beginning=True, **where) as consumer:
        found: dict[str, list[int]] = {}
        for record in consumer.read_to_end():
            found.setdefault(record.key, []).append(record.value)
    assert found == {f"thread-{number}": list(range(5_000)) for number in range(3)}
