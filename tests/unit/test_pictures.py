"""Pictures of topologies: everything is in them, nothing lies on anything else, and lines cross no thing."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cache
from itertools import combinations, pairwise
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
from semantics.scenarios import SCENARIOS, topology_of

from headrace import JoinWindows, Processor, StreamsBuilder, Topology
from headrace.topology.picture.figure import figure
from headrace.topology.picture.shapes import Arrow, Figure, Shape

SVG = "{http://www.w3.org/2000/svg}"


def large(size: int, seed: int) -> Topology:
    """Many steps, with branches, merges, joins, repartitions and tables."""
    random, builder = Random(seed), StreamsBuilder()
    rates = builder.global_table("rates", value=str, store="rates")
    streams: list[Any] = [builder.stream(f"in-{n}", value=str) for n in range(3)]
    tables: list[Any] = [builder.table("users", value=str, store="users")]
    for number in range(size):
        stream, kind = random.choice(streams), random.randrange(9)
        if kind < 3:
            streams.append(stream.filter(lambda key, value: True))
        elif kind == 3:
            streams.append(stream.select_key(lambda key, value: value, key=str))
        elif kind == 4:
            tables.append(stream.group_by_key().reduce(lambda a, b: a))
        elif kind == 5:
            streams.append(stream.join(random.choice(tables), join=lambda a, b: a, value=str))
        elif kind == 6:
            streams.append(stream.merge(random.choice(streams)))
        elif kind == 7:
            windows = JoinWindows(timedelta(seconds=1))
            other = random.choice(streams)
            streams.append(stream.left_join(other, windows=windows, join=lambda a, b: a, value=str))
        else:
            joined = stream.join(rates, on=lambda key, value: key, join=lambda a, b: a, value=str)
            joined.to(f"a-rather-long-name-of-an-output-topic-that-has-to-be-broken-{number}")
    return builder.build(optimization=random.choice(["none", "all"]))


def by_hand() -> Topology:
    """A sub-topology that writes to what it reads, a pattern that is no XML, and a topic chosen per record."""
    topology = Topology().add_source("in", "loop")
    topology.add_source("pattern", re.compile("in-<.*>&"))
    topology.add_processor("work", Processor, ["in", "pattern"])
    topology.add_sink("back", "loop", "work").add_sink("any", lambda key, value, metadata: "x", "work")
    return topology.add_source("alone", "nobody")


TOPOLOGIES: dict[str, Topology] = {
    "nothing": Topology(),
    "by hand": by_hand(),
    "large": large(60, 1),
    "larger": large(120, 2),
    "very large": large(200, 3),
}


@cache
def figure_of(name: str) -> tuple[Topology, Figure]:
    topology = TOPOLOGIES[name] if name in TOPOLOGIES else topology_of(name)
    return topology, figure(topology.to_data())


ALL = [*TOPOLOGIES, *SCENARIOS]


@pytest.mark.parametrize("name", ALL)
def test_everything_is_there(name: str) -> None:
    topology, drawn = figure_of(name)
    shown = {(shape.kind, shape.name) for shape in drawn.shapes}
    for node in topology.nodes.values():
        assert {("source", node.name), ("processor", node.name), ("sink", node.name)} & shown
    assert {("store", store) for store in topology.stores} <= shown
    assert {("store", table.store.name) for table in topology.global_stores} <= shown
    boxes = {shape.name for shape in drawn.shapes if shape.kind == "box"}
    assert boxes == {
        *(f"Sub-topology {sub.id}" for sub in topology.sub_topologies()),
        *(f"Global store {table.store.name}" for table in topology.global_stores),
    }
    lines = {(arrow.start, arrow.end) for arrow in drawn.arrows}
    for node in topology.nodes.values():
        assert {(parent, node.name) for parent in getattr(node, "parents", ())} <= lines
        assert {(node.name, store) for store in getattr(node, "stores", ())} <= lines
        assert {(topic, node.name) for topic in getattr(node, "topics", ())} <= lines
        if getattr(node, "topic", None):
            assert (node.name, node.topic) in lines  # type: ignore[union-attr]
            assert ("topic", node.topic) in shown  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ALL)
def test_nothing_lies_on_anything_else(name: str) -> None:
    _, drawn = figure_of(name)
    boxes = [shape for shape in drawn.shapes if shape.kind == "box"]
    things = [shape for shape in drawn.shapes if shape.kind != "box"]
    for one, other in [*combinations(boxes, 2), *combinations(things, 2)]:
        assert not overlap(one, other), f"{one.name} and {other.name}"
    for thing in things:
        around = [box for box in boxes if overlap(box, thing)]
        assert len(around) == (thing.kind != "topic"), thing.name
        assert all(inside(box, thing) for box in around), thing.name
    for shape in drawn.shapes:
        assert 0 <= shape.x <= shape.x + shape.width <= drawn.width
        assert 0 <= shape.y <= shape.y + shape.height <= drawn.height


@pytest.mark.parametrize("name", ALL)
def test_lines_go_down_and_cross_no_thing(name: str) -> None:
    _, drawn = figure_of(name)
    things = [shape for shape in drawn.shapes if shape.kind != "box"]
    for arrow in drawn.arrows:
        points = arrow.points
        assert all(one[1] <= other[1] + 0.01 for one, other in pairwise(points))
        assert touches(things, arrow.start, points[0], bottom=True), arrow
        assert touches(things, arrow.end, points[-1], bottom=False), arrow
        crossed = {thing.name for part in parts(arrow) for thing in things if overlap(part, thing)}
        assert crossed <= {arrow.start, arrow.end}, f"{arrow.start} -> {arrow.end} crosses {crossed}"


def overlap(one: Shape, other: Shape) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def inside(box: Shape, thing: Shape) -> bool:
    return (
        box.x <= thing.x
        and box.y <= thing.y
        and thing.x + thing.width <= box.x + box.width
        and thing.y + thing.height <= box.y + box.height
    )


def touches(things: list[Shape], name: str, point: tuple[float, float], *, bottom: bool) -> bool:
    x, y = point
    return any(
        thing.name == name
        and thing.x < x < thing.x + thing.width
        and abs(y - (thing.y + thing.height if bottom else thing.y)) < 0.01
        for thing in things
    )


def parts(arrow: Arrow) -> list[Shape]:
    """A curve stays between its ends, so the box around each part is enough."""
    return [
        Shape("box", "", (), "", min(x, to_x), y, max(abs(to_x - x), 0.01), to_y - y)
        for (x, y), (to_x, to_y) in pairwise(arrow.points)
        if to_y - y > 0.01
    ]


@pytest.mark.parametrize("name", ALL)
def test_the_svg_is_whole_and_needs_nothing_else(name: str) -> None:
    topology, _ = figure_of(name)
    text = topology.to_svg("a <title> & more")
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root[0].text == "a <title> & more"
    named = {group.get("data-name") for group in root.iter(f"{SVG}g")}
    assert set(topology.nodes) | set(topology.stores) <= named
    assert not re.search(r"\s(href|src)=|url\((?!#)|<script|@import", text)
    page = topology.to_html("a <title> & more")
    assert text.splitlines()[3] in page
    assert "<title>a &lt;title&gt; &amp; more</title>" in page
    assert not re.search(r"<script|<link|\s(href|src)=|@import", page)


def test_tooltips_say_where_and_how() -> None:
    builder = StreamsBuilder()
    counted = builder.stream("in", value=str, name="source").group_by_key().count(store="counts", name="n")
    counted.to_stream().to("out", name="sink")
    tips = {shape.name: shape.tip for shape in figure(builder.build().to_data()).shapes}
    assert re.fullmatch(
        r"source\nsource\nkey: default, value: string\nat .*test_pictures\.py:\d+", tips["source"]
    )
    assert re.search(r"^stores: counts$", tips["n"], re.MULTILINE)
    assert re.match(
        r"counts\ntimestamped_key_value store\nkey: default, value: long\nat .*:\d+", tips["counts"]
    )


def test_a_topic_that_comes_back_is_drawn_twice() -> None:
    drawn = figure(by_hand().to_data())
    loops = [shape for shape in drawn.shapes if shape.name == "loop"]
    assert len(loops) == 2
    assert all(shape.lines[0].startswith("\u21bb") for shape in loops)


def test_parts_that_have_nothing_to_do_with_each_other_are_shelved() -> None:
    builder = StreamsBuilder()
    for number in range(30):
        builder.stream(f"in-{number}", value=str).to(f"out-{number}")
    drawn = figure(builder.build().to_data())
    assert drawn.width < 4 * drawn.height


def test_a_saved_topology_can_be_drawn_too() -> None:
    data = large(30, 5).to_data(origins=False)
    drawn = figure(data)
    assert drawn.shapes
    assert not any("\nat " in shape.tip for shape in drawn.shapes)
