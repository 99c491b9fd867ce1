"""Count words: the first program of every stream processor.

$ echo "hello streams" | headrace produce text-input --no-key
$ headrace run examples/word_count.py
$ headrace consume wordcount-output --value-type long
"""

from __future__ import annotations

import re

from headrace import StreamsBuilder


def words(line: str) -> list[str]:
    return re.findall(r"\w+", line.lower())


builder = StreamsBuilder()
(
    builder.stream("text-input", value=str)
    .flat_map_values(words, value=str)
    .select_key(lambda _, word: word)
    .group_by_key()
    .count(store="word-count-store")
    .to_stream()
    .to("wordcount-output", value=int)
)
topology = builder.build()


if __name__ == "__main__":
    # Here and not above, because it brings Spark, which a test of the topology does not need.
    from headrace import Streams

    with Streams(topology, application_id="word-count") as streams:
        streams.wait()
