"""The picture as a page of its own: no scripts, nothing from elsewhere; tooltips say where each thing was made."""

from __future__ import annotations

from html import escape
from typing import Any

from headrace.serdes.described import serde_text
from headrace.topology.picture.figure import figure
from headrace.topology.picture.svg import to_svg

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 0; font-family: system-ui, sans-serif; color: #1c2733; background: #ffffff; }}
header, section {{ padding: 12px 24px; overflow-x: auto; }}
h1 {{ font-size: 18px; margin: 0; }}
p, li {{ color: #5b6b7b; margin: 4px 0 0; }}
main {{ overflow: auto; border-block: 1px solid #c4cfda; }}
main svg {{ display: block; margin: auto; }}
table {{ border-collapse: collapse; font-size: 13px; }}
th, td {{ text-align: left; white-space: nowrap; padding: 4px 16px 4px 0; border-bottom: 1px solid #c4cfda; }}
h2 {{ font-size: 15px; }}
@media (prefers-color-scheme: dark) {{
  body {{ color: #e6edf3; background: #14191f; }}
  p, li {{ color: #9aa8b5; }}
  main, th, td {{ border-color: #3a4754; }}
}}
</style>
</head>
<body>
<header><h1>{title}</h1><p>{summary}. Point at anything to see where it was made.</p></header>
<main>
{svg}</main>
{tables}</body>
</html>
"""


def to_page(data: dict[str, Any], title: str = "Topology") -> str:
    """The page, with the picture and tables of stores and topics below it."""
    subs, tables = data["subtopologies"], data["global_stores"]
    stores = [(store, f"sub-topology {sub['id']}") for sub in subs for store in sub["stores"]]
    stores += [(table["store"], "every host") for table in tables]
    nodes = sum(len(part["nodes"]) for part in [*subs, *tables])
    summary = f"{_count(len(subs), 'sub-topolog', 'y', 'ies')}, {_count(nodes, 'node')}, {_count(len(stores), 'store')}"
    rows = [
        [
            store["name"],
            store["kind"],
            serde_text(store["key"]),
            serde_text(store["value"]),
            where,
            store.get("origin"),
        ]
        for store, where in stores
    ]
    listed = _table("Stores", ["Store", "Kind", "Key", "Value", "In", "Made at"], rows)
    listed += _table("Topics", ["Topic", "", "Key", "Value", "Node", "Made at"], _topics(data))
    return _PAGE.format(
        title=escape(title), summary=escape(summary), svg=to_svg(figure(data), title), tables=listed
    )


def _topics(data: dict[str, Any]) -> list[list[str | None]]:
    rows: list[list[str | None]] = []
    for part in [*data["subtopologies"], *data["global_stores"]]:
        for node in part["nodes"]:
            if node["type"] == "processor":
                continue
            is_source = node["type"] == "source"
            names = (
                [*node["topics"], *([f"/{node['pattern']}/"] if node["pattern"] else [])] if is_source else []
            )
            for name in names or [node.get("topic") or "(chosen per record)"]:
                how = ("read" if is_source else "written") + (", internal" if node["internal"] else "")
                serdes = [serde_text(node["key"]), serde_text(node["value"])]
                rows.append([name, how, *serdes, node["name"], node.get("origin")])
    return rows


def _table(title: str, heads: list[str], rows: list[list[Any]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell or ''))}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    return f"<section><h2>{escape(title)}</h2><table><tr>{head}</tr>\n{body}</table></section>\n"


def _count(number: int, word: str, one: str = "", many: str = "s") -> str:
    return f"{number} {word}{one if number == 1 else many}"
