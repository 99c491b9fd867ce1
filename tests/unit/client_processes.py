"""What other processes do with consumers in the tests."""

from __future__ import annotations

import os
import random
import time
from datetime import timedelta
from pathlib import Path

from headrace import Consumer


def consume(folder: Path, group: str, member: str, seed: int) -> None:
    """Read for ever, and note each value in a file of this member's own before it counts as done."""
    chance = random.Random(seed)
    notes = os.open(folder / f"{member}.seen", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with Consumer[str, int](
        "t", value=int, group=group, from_beginning=True, commit_interval=timedelta(0), data_dir=folder
    ) as consumer:
        while True:
            for record in consumer.poll(timedelta(milliseconds=50), max_records=chance.randrange(1, 9)):
                os.write(notes, b"%d %d\n" % (record.partition, record.offset))
            time.sleep(0.002)
