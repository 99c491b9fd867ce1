"""The plan of an application as a picture: bands from top to bottom, as a batch passes through them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from headrace.config import StreamsConfig
from headrace.log.commits import commits_topic
from headrace.spark.explain.words import count, steps, store_words, task_names
from headrace.spark.layout import HEAD, Layout, Placement
from headrace.topology.picture.graph import Line, Size
from headrace.topology.picture.labels import LINE, broken, width_of
from headrace.topology.picture.layers import lay_out
from headrace.topology.picture.shapes import Arrow, Figure, Kind, Shape
from headrace.topology.topology import Topology

MARGIN, PADDING, BETWEEN = 24.0, 16.0, 56.0
LONGEST = 34
"""Characters in a line of what a sub-topology does."""
BACK = "\u21bb "
"""In front of a topic that is written below and read above."""

ItemKind: TypeAlias = Literal["topic", "shuffle", "sub", "store", "table"]


@dataclass(frozen=True, slots=True)
class Item:
    """Something in the picture. Bands are numbered from top to bottom; inside one, `level` goes down."""

    kind: ItemKind
    name: str
    band: int
    level: int
    lines: tuple[str, ...]
    tip: str
    heading: str = ""
    internal: bool = False
    """Nothing that the user has made."""


@dataclass(slots=True)
class PlanPicture:
    """Items in bands, and the ways between them. Drawn as SVG or written as Mermaid."""

    titles: dict[int, str] = field(default_factory=dict)
    """Of the bands that have a frame; none of them is empty."""
    items: dict[str, Item] = field(default_factory=dict)
    ways: dict[tuple[str, str], bool] = field(default_factory=dict)
    """From one item to another; true for records, false for the use of a store."""

    def add(self, key: str, item: Item) -> str:
        self.items.setdefault(key, item)
        return key

    def figure(self) -> Figure:
        """Everything with its place."""
        depths = sorted({(item.band, item.level) for item in self.items.values()})
        lines = [Line(*way, weight=1.0 if records else 0.3) for way, records in self.ways.items()]
        sizes = {key: _size(item) for key, item in self.items.items()}
        layers = {key: depths.index((item.band, item.level)) for key, item in self.items.items()}
        layout = lay_out(sizes, lines, gap=30, between=BETWEEN, layers=layers)
        found = Figure()
        gutter = max(map(width_of, ([title] for title in self.titles.values()))) + PADDING
        left, down = MARGIN + PADDING + gutter, MARGIN
        found.width = left + layout.width + PADDING + MARGIN
        found.height = layout.height + 2 * MARGIN + PADDING
        for band, title in self.titles.items():
            mine = [key for key, item in self.items.items() if item.band == band]
            top = down + min(layout.places[key][1] for key in mine) - PADDING
            bottom = down + max(layout.places[key][1] + sizes[key].height for key in mine) + PADDING
            at = (MARGIN, top, found.width - 2 * MARGIN, bottom - top)
            found.shapes.append(Shape("box", title, (title,), title, *at))
        for key, (x, y) in layout.places.items():
            found.shapes.append(_shape(self.items[key], left + x, down + y, sizes[key]))
        for (way, records), points in zip(self.ways.items(), layout.ways, strict=True):
            moved = tuple((left + x, down + y) for x, y in points)
            found.arrows.append(Arrow("records" if records else "store", *way, moved))
        return found

    def mermaid(self) -> str:
        """A flowchart with a box around each band."""
        names = {key: f"item{number}" for number, key in enumerate(self.items)}
        lines = ["flowchart TD"]
        for band in sorted({item.band for item in self.items.values()}):
            inside = [(names[key], item) for key, item in self.items.items() if item.band == band]
            written = [f"{name}{_mermaid_shape(item)}" for name, item in inside]
            if band in self.titles:
                lines += [f'  subgraph band{band}["{_quoted(self.titles[band])}"]']
                lines += [*(f"    {line}" for line in written), "  end"]
            else:
                lines += [f"  {line}" for line in written]
        for (start, end), records in self.ways.items():
            lines.append(f"  {names[start]} {'-->' if records else '-.-'} {names[end]}")
        return "\n".join(lines) + "\n"


def plan_picture(
    topology: Topology, config: StreamsConfig, layout: Layout, assumed: frozenset[str], slots: int | None
) -> PlanPicture:
    """Topics, the reader with the stateless heads, shuffles and stages with their stores, and what is committed."""
    picture = PlanPicture()
    last = 2 + 2 * layout.stages
    picture.titles[1] = "Reader"
    for stage in range(1, layout.stages + 1):
        told = "" if slots is None else f": {count(slots, 'slot')}"
        picture.titles[1 + 2 * stage] = f"Stage {stage}{told}"
    picture.titles[last] = "Commit"
    for store, topic in layout.globals.items():
        partitions = layout.global_partitions[topic]
        start = picture.add(f"topic {topic}", _topic(topic, 0, partitions, topic in assumed))
        tip = f"{store}\nglobal table of {topic}, whole on every host"
        end = picture.add(
            f"table {store}", Item("table", store, 1, 0, (*broken(store), "global table"), tip, internal=True)
        )
        picture.ways[start, end] = True
    for placement in layout.placements:
        _add_placement(picture, placement, layout, assumed, last)
    commits = commits_topic(config.application_id)
    tip = f"{commits}\nhow far everything has been read, in the same transaction as the rest"
    picture.add(
        "commits", Item("topic", commits, last, 0, (*broken(commits), "positions"), tip, internal=True)
    )
    return picture


def _add_placement(
    picture: PlanPicture, placement: Placement, layout: Layout, assumed: frozenset[str], last: int
) -> None:
    sub, band = placement.sub, 1 + 2 * placement.stage
    looked_up = [
        store
        for store in layout.globals
        if any(getattr(getattr(n, "operator", None), "store", None) == store for n in sub.nodes)
    ]
    heading = (
        f"sub-topology {sub.id}"
        if placement.stage == HEAD
        else f"sub-topology {sub.id}: tasks {task_names(placement)}"
    )
    doing = steps(sub) or ["pass on"]
    tip = "\n".join([heading, *(node.name for node in sub.nodes)])
    here = picture.add(
        f"sub {sub.id}", Item("sub", f"Sub-topology {sub.id}", band, 1, tuple(_wrapped(doing)), tip, heading)
    )
    for store in sorted(looked_up):
        picture.ways[f"table {store}", here] = False
    reads = here
    if placement.topics and placement.stage > HEAD:
        tip = f"records for the tasks of sub-topology {sub.id}, as they are in the topics"
        lines = ("pack as it is,", f"to the task of its {'key' if layout.by_key else 'partition'}")
        item = Item("sub", f"Read for {sub.id}", 1, 1, lines, tip, f"for sub-topology {sub.id}")
        reads = picture.add(f"read {sub.id}", item)
        picture.ways[reads, here] = True
    for topic in placement.topics:
        looped = layout.node_topic(topic) in layout.looped
        shown = BACK + topic if looped or _is_written(layout, topic) else topic
        item = replace(_topic(shown, 0, layout.topics[topic], topic in assumed), internal=looped)
        picture.ways[picture.add(f"topic {topic}", item), reads] = True
    for source in sub.sources:
        for name in source.topics if source.repartition else ():
            if name not in layout.looped:
                picture.ways[_shuffle(picture, layout, name, band - 1), here] = True
    for spec in sub.stores:
        changelog = "no changelog" if not spec.logging else layout.changelog(spec.name)
        said = f"{spec.name}\n{store_words(spec)}\nchangelog: {changelog}"
        item = Item("store", spec.name, band, 2, (*broken(spec.name), spec.kind.replace("_", " ")), said)
        picture.ways[here, picture.add(f"store {spec.name}", item)] = False
    for sink in sub.sinks:
        if sink.repartition and sink.topic is not None and sink.topic not in layout.looped:
            stage = min(p.stage for p in layout.repartition_readers[sink.topic])
            picture.ways[here, _shuffle(picture, layout, sink.topic, 2 * stage)] = True
        else:
            topic = sink.topic or "(chosen per record)"
            name = layout.internal_name(topic) if sink.repartition else topic
            shown = BACK + name if name in layout.topics else name
            item = Item(
                "topic", name, last, 0, tuple(broken(shown)), f"topic {name}", internal=sink.repartition
            )
            picture.ways[here, picture.add(f"output {name}", item)] = True


def _shuffle(picture: PlanPicture, layout: Layout, name: str, band: int) -> str:
    tip = f"{name}\nshuffled by Spark to {count(layout.repartitions[name], 'task')}; there is no such topic"
    return picture.add(
        f"shuffle {name}",
        Item("shuffle", name, band, 0, ("shuffle by key", *broken(name)), tip, internal=True),
    )


def _is_written(layout: Layout, topic: str) -> bool:
    return any(s.topic == topic for p in layout.placements for s in p.sub.sinks)


def _topic(name: str, band: int, partitions: int, assumed: bool) -> Item:
    told = f"{count(partitions, 'partition')}{', assumed' if assumed else ''}"
    return Item("topic", name.removeprefix(BACK), band, 0, (*broken(name), told), f"topic {name}, {told}")


def _wrapped(words: list[str]) -> Iterator[str]:
    line = ""
    for number, word in enumerate(words):
        more = word + (" →" if number < len(words) - 1 else "")
        if line and len(line) + 1 + len(more) > LONGEST:
            yield line
            line = ""
        line = f"{line} {more}" if line else more
    yield line


def _size(item: Item) -> Size:
    width = width_of([*item.lines, item.heading])
    if item.kind in ("store", "table"):
        return Size(max(width + 26, 80), LINE * len(item.lines) + 28)
    if item.kind == "sub":
        return Size(max(width + 22, 120), LINE * (len(item.lines) + 1) + 14)
    return Size(width + 36, LINE * len(item.lines) + 14)


def _shape(item: Item, x: float, y: float, size: Size) -> Shape:
    kinds: dict[ItemKind, Kind] = {
        "sub": "processor",
        "store": "store",
        "table": "store",
        "shuffle": "topic",
        "topic": "topic",
    }
    shape = Shape(
        kinds[item.kind], item.name, item.lines, item.tip, x, y, size.width, size.height, item.heading
    )
    return replace(shape, internal=item.internal)


_MERMAID: dict[ItemKind, tuple[str, str]] = {
    "sub": ("[", "]"),
    "store": ("[(", ")]"),
    "table": ("[(", ")]"),
    "shuffle": (">", "]"),
    "topic": ("{{", "}}"),
}


def _mermaid_shape(item: Item) -> str:
    text = _quoted("<br/>".join([*([f"<i>{item.heading}</i>"] if item.heading else []), *item.lines]))
    left, right = {
        "sub": "[]",
        "store": ("[(", ")]"),
        "table": ("[(", ")]"),
        "shuffle": (">", "]"),
        "topic": ("{{", "}}"),
    }[item.kind]
    return f'{left}"{text}"{right}'


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;")
