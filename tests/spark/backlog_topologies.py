"""A join of streams over a long backlog, in a module, so that workers find its functions."""

from __future__ import annotations

from datetime import timedelta

from headrace import JoinWindows, StreamsBuilder, TimeWindows, Topology, field_timestamp


def short_windows(*, extracted: bool) -> Topology:
    """A join whose window is short beside the backlog, and a windowed count in which all partitions meet."""
    builder = StreamsBuilder()
    extractor = field_timestamp("at") if extracted else None
    busy = builder.stream("busy", value=dict, timestamp_extractor=extractor)
    quiet = builder.stream("quiet", value=dict, timestamp_extractor=extractor)
    windows = JoinWindows(timedelta(milliseconds=40), grace=timedelta(milliseconds=20))
    busy.join(quiet, join=lambda a, b: {"n": [a["n"], b["n"]]}, windows=windows, value=dict).to("pairs")
    grouped = busy.merge(quiet).group_by(lambda key, value: str(value["n"] % 3), key=str)
    size = TimeWindows(timedelta(milliseconds=100), grace=timedelta(milliseconds=20))
    grouped.windowed_by(size).count(store="n").to_stream().map(
        lambda window, n: (f"{window.key}@{window.start}", n), key=str, value=int
    ).to("counts")
    return builder.build()
