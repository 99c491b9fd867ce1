"""Multi-stage: three repartitions one behind the other, a table that is met again further on (so that the records go
back through a topic of their own), and a topic that the application writes and reads.
"""

from __future__ import annotations

from datetime import timedelta

from headrace import StreamsBuilder

config = {"commit_interval": timedelta(milliseconds=1), "small_batch_records": 50}


def both(left: object, right: object) -> str:
    return f"{left}+{right}"


builder = StreamsBuilder()
table = builder.table("rows", value=str, store="rows")
words = builder.stream("in", value=str)
letters = words.group_by(lambda key, value: value[0]).count(store="letters")
thirds = letters.to_stream().map(lambda letter, count: (f"t{count % 3}", count), key=str, value=int)
highest = thirds.group_by_key().reduce(max, store="highest").to_stream()
highest.to("highest", value=int)
again = highest.select_key(lambda key, count: f"k{count % 10}", key=str)
again.repartition(name="again", value=int).left_join(table, join=both, value=str).to("met")
words.left_join(table, join=both, value=str).to("middle")
builder.stream("middle", value=str).select_key(lambda key, value: value[-1], key=str).group_by_key().count(
    store="endings"
).to_stream().to("endings", value=int)
topology = builder.build()
