"""A topology's data laid out: boxes with their nodes and stores, topics between them, and all lines."""

from __future__ import annotations

from dataclasses import replace

from headrace.topology.picture.boxes import Box, Data, Key
from headrace.topology.picture.graph import Line, Size
from headrace.topology.picture.labels import LINE, broken, width_of
from headrace.topology.picture.layers import lay_out, turned
from headrace.topology.picture.shapes import Arrow, Figure, Shape
from headrace.topology.picture.shelves import shelve

AGAIN = "\u21bb "
"""In front of a topic that is drawn twice."""


def figure(data: Data) -> Figure:
    """Lay a topology out."""
    tables = {table["store"]["name"]: table["store"] for table in data["global_stores"]}
    boxes = [
        Box(f"Sub-topology {sub['id']}", sub["nodes"], sub["stores"], tables) for sub in data["subtopologies"]
    ]
    boxes += [
        Box(f"Global store {table['store']['name']}", table["nodes"], [table["store"]], {})
        for table in data["global_stores"]
    ]
    return shelve([_whole(group) for group in _connected(boxes)])


def _topic_size(name: str) -> Size:
    lines = broken(name)
    return Size(width_of(lines) + 36, LINE * len(lines) + 14)


def _connected(boxes: list[Box]) -> list[list[Box]]:
    """Boxes that share topics, or of which one looks rows up in the other."""
    groups: list[tuple[list[Box], set[str]]] = []
    for box in boxes:
        names = {topic for topic, *_ in box.topics()} | {f"store {name}" for name in box.foreign}
        if box.title.startswith("Global store "):
            names.add(f"store {box.title.removeprefix('Global store ')}")
        near = [group for group in groups if group[1] & names]
        groups = [group for group in groups if not group[1] & names]
        members = [each for group in near for each in group[0]]
        groups.append(([*members, box], names.union(*(group[1] for group in near))))
    order = {id(box): number for number, box in enumerate(boxes)}
    return sorted((group[0] for group in groups), key=lambda group: min(order[id(box)] for box in group))


def _whole(boxes: list[Box]) -> Figure:
    """Boxes and the topics between them."""
    ends = [(number, *end) for number, box in enumerate(boxes) for end in box.topics()]
    lines: list[Line[Key]] = []
    for number, topic, node, is_read, _ in ends:
        here, there, port = ("box", str(number)), ("topic", topic), boxes[number].port(node)
        lines.append(Line(there, here, 0.0, port) if is_read else Line(here, there, port, 0.0))
    internal = {topic: is_internal for _, topic, _, _, is_internal in ends}
    sizes = {("topic", topic): _topic_size(topic) for topic in internal}
    sizes |= {("box", str(number)): box.size for number, box in enumerate(boxes)}
    lines = _without_cycles(sizes, lines)
    layout = lay_out(sizes, lines, gap=36, between=52, tops=True)
    found = Figure(width=layout.width, height=layout.height)
    for (what, name), (x, y) in layout.places.items():
        if what == "box":
            found.add(boxes[int(name)].draw(x, y))
        else:
            again = ("again", name) in sizes
            found.shapes.append(_topic(name, internal[name], x, y, again=again))
    for (number, topic, node, is_read, _), way in zip(ends, layout.ways, strict=True):
        top, bottom = boxes[number].depth(node)
        y = layout.places["box", str(number)][1]
        if is_read:
            found.arrows.append(Arrow("records", topic, node, (*way, (way[-1][0], y + top))))
        else:
            found.arrows.append(Arrow("records", node, topic, ((way[0][0], y + bottom), *way)))
    return found


def _without_cycles(sizes: dict[Key, Size], lines: list[Line[Key]]) -> list[Line[Key]]:
    """Where records come back to where they have been, the topic is drawn a second time above."""
    found = []
    for line, is_turned in zip(lines, turned(sizes, lines), strict=True):
        if not is_turned:
            found.append(line)
        elif line.start[0] == "topic":
            again = ("again", line.start[1])
            sizes[again] = sizes[line.start] = _topic_size(AGAIN + line.start[1])
            found.append(replace(line, start=again))
        else:
            again = ("again", line.end[1])
            sizes[again] = sizes[line.end] = _topic_size(AGAIN + line.end[1])
            found.append(replace(line, end=again))
    return found


def _topic(name: str, internal: bool, x: float, y: float, *, again: bool) -> Shape:
    shown = AGAIN + name if again else name
    size = _topic_size(shown)
    told = ": what is written below comes back above" if again else ""
    tip = f"{'repartition topic' if internal else 'topic'} {name}{told}"
    return Shape("topic", name, tuple(broken(shown)), tip, x, y, size.width, size.height, internal=internal)
