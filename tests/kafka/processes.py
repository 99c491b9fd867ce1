"""Other processes that use the log, for tests that stop and kill them."""

from __future__ import annotations

import subprocess
import sys
import textwrap

PUBLISH = """
    # Publishes numbered batches for ever: ten outputs, ten changes, the number as commit record and as position.
    import sys
    from headrace.errors import HeadraceError
    from headrace.log import LogConfig, Outgoing, Publication, TopicPartition, open_log

    servers, name = sys.argv[1:]
    try:
        publisher = open_log(LogConfig(bootstrap_servers=servers)).publisher(name)
        number = int(publisher.last_commit() or b"0")
        print("start", number, flush=True)
        while True:
            number += 1
            keys, numbers, times = [b"%d" % i for i in range(10)], [b"%d" % number] * 10, [1] * 10
            publisher.publish(Publication(
                [Outgoing(f"{name}-out", keys, numbers, times)],
                [Outgoing(f"{name}-store-changelog", keys, numbers, times)],
                {TopicPartition(f"{name}-in", 0): number},
                lambda _: b"%d" % number,
            ))
            print(number, flush=True)
    except HeadraceError as error:
        print(type(error).__name__, error, flush=True)
"""


def python(code: str, *args: object) -> subprocess.Popen[str]:
    """Another process that runs `code`."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def line(process: subprocess.Popen[str]) -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    found = process.stdout.readline().strip()
    assert found, process.communicate()[1]
    return found
