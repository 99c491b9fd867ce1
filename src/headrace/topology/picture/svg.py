"""The figure as SVG: one file with all it needs, light or dark as the reader's screen is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from headrace.topology.picture.graph import Point
from headrace.topology.picture.labels import CHARACTER, LINE
from headrace.topology.picture.shapes import Arrow, Figure, Shape

STYLE = """
.headrace { --paper: #ffffff; --ink: #1c2733; --soft: #5b6b7b; --line: #7a8896; --box: #f3f6f9; --edge: #c4cfda;
  --node: #ffffff; --source: #e3f1e4; --sink: #fdeadb; --store: #e4ecfb; --topic: #fff3c9; --inner: #efe6f8; }
@media (prefers-color-scheme: dark) {
  .headrace { --paper: #14191f; --ink: #e6edf3; --soft: #9aa8b5; --line: #8796a5; --box: #1c232b; --edge: #3a4754;
    --node: #252e38; --source: #1f3b27; --sink: #46301c; --store: #22324d; --topic: #453a12; --inner: #382a47; }
}
.headrace { background: var(--paper); font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.headrace text { fill: var(--ink); font-size: 11.5px; text-anchor: middle; }
.headrace .heading { fill: var(--soft); font-style: italic; }
.headrace .box > rect { fill: var(--box); stroke: var(--edge); }
.headrace .box > text { text-anchor: start; font-weight: bold; }
.headrace .processor > rect { fill: var(--node); stroke: var(--line); }
.headrace .source > rect { fill: var(--source); stroke: var(--line); }
.headrace .sink > rect { fill: var(--sink); stroke: var(--line); }
.headrace .store > path { fill: var(--store); stroke: var(--line); }
.headrace .topic > rect { fill: var(--topic); stroke: var(--line); }
.headrace .topic.internal > rect { fill: var(--inner); }
.headrace .internal > rect, .headrace .internal > path { stroke-dasharray: 4 3; }
.headrace .arrow { fill: none; stroke: var(--line); stroke-width: 1.4; }
.headrace .arrow.store { stroke-dasharray: 3 3; }
.headrace .tip { fill: var(--line); }
.headrace g:hover > rect, .headrace g:hover > path { stroke: var(--ink); stroke-width: 2; }
"""


def to_svg(figure: Figure, title: str = "Topology") -> str:
    """The whole picture."""
    width, height = max(figure.width, 60), max(figure.height, 40)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="headrace" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
        ),
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        (
            '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            'orient="auto"><path class="tip" d="M0 0 L10 5 L0 10 z"/></marker></defs>'
        ),
    ]
    boxes = [shape for shape in figure.shapes if shape.kind == "box"]
    parts += [_group(box, [_rectangle(box, 10)]) for box in boxes]
    parts += [_arrow(arrow) for arrow in figure.arrows]
    parts += [_title(box) for box in boxes]
    parts += [_shape(shape) for shape in figure.shapes if shape.kind != "box"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _group(shape: Shape, inside: Sequence[str]) -> str:
    kinds = f"{shape.kind} internal" if shape.internal else shape.kind
    head = f'<g class="{kinds}" data-name="{escape(shape.name)}"><title>{escape(shape.tip)}</title>'
    return "".join([head, *inside, "</g>"])


def _shape(shape: Shape) -> str:
    match shape.kind:
        case "store":
            return _group(shape, [_cylinder(shape), *_texts(shape, shape.y + 20)])
        case "topic":
            return _group(shape, [_rectangle(shape, shape.height / 2), *_texts(shape, shape.y + 7)])
    heading = _text(shape.heading, shape.x + shape.width / 2, shape.y + 7 + LINE - 4, "heading")
    return _group(shape, [_rectangle(shape, 5), heading, *_texts(shape, shape.y + 7 + LINE)])


def _rectangle(shape: Shape, radius: float) -> str:
    return (
        f'<rect x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" height="{shape.height:.1f}" '
        f'rx="{radius:.1f}"/>'
    )


def _cylinder(shape: Shape) -> str:
    left, right = f"{shape.x:.1f}", f"{shape.x + shape.width:.1f}"
    rim, top, bottom = 6.0, shape.y + 6, shape.y + shape.height - 6
    arc = f"A {shape.width / 2:.1f} {rim}"
    return (
        f'<path d="M {left} {top:.1f} V {bottom:.1f} {arc} 0 0 0 {right} {bottom:.1f} V {top:.1f} '
        f'{arc} 0 0 0 {left} {top:.1f} {arc} 0 0 0 {right} {top:.1f}"/>'
    )


def _texts(shape: Shape, top: float) -> Iterator[str]:
    for number, line in enumerate(shape.lines):
        yield _text(line, shape.x + shape.width / 2, top + LINE * (number + 1) - 4)


def _text(text: str, x: float, y: float, kind: str = "") -> str:
    said = f' class="{kind}"' if kind else ""
    # Told how long it is, a text takes the room that was planned for it, whatever font is there.
    length = f' textLength="{len(text) * CHARACTER:.0f}" lengthAdjust="spacingAndGlyphs"' if text else ""
    return f'<text{said} x="{x:.1f}" y="{y:.1f}"{length}>{escape(text)}</text>'


def _title(box: Shape) -> str:
    """Over the lines that enter the box, on ground of its own."""
    width = len(box.name) * CHARACTER
    return (
        f'<g class="box" data-title="{escape(box.name)}">'
        f'<rect x="{box.x + 8:.1f}" y="{box.y + 6:.1f}" width="{width + 12:.1f}" height="18" style="stroke: none"/>'
        + _text(box.name, box.x + 14, box.y + 19)
        + "</g>"
    )


def _arrow(arrow: Arrow) -> str:
    tip = ' marker-end="url(#tip)"' if arrow.kind == "records" else ""
    return (
        f'<path class="arrow {arrow.kind}" data-from="{escape(arrow.start)}" data-to="{escape(arrow.end)}" '
        f'd="{_curve(arrow.points)}"{tip}/>'
    )


def _curve(points: Sequence[Point]) -> str:
    """Straight down inside a layer, and in a smooth curve from one to the next."""
    (x, y), *rest = points
    drawn = [f"M {x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        if abs(to_x - x) < 0.05:
            if abs(to_y - y) >= 0.05:
                drawn.append(f"V {to_y:.1f}")
        else:
            middle = (y + to_y) / 2
            drawn.append(f"C {x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return " ".join(drawn)
