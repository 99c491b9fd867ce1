"""How the user's application reaches the workers: as a module that they import, or pickled when there is none.

A module is best: its classes are the same everywhere, whatever they are made with (a `msgspec.Struct` of a script
cannot be pickled at all). So a topology that is an attribute of a module goes by name, and its file is shipped; a
script that is run as `__main__` is imported by the workers under its file's name. Only a topology that no module
holds is pickled.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import importlib
import importlib.util
import io
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast

from pyspark import cloudpickle

from headrace.config import StreamsConfig
from headrace.errors import StartError
from headrace.spark.bundle import is_sent
from headrace.spark.restores import Channel
from headrace.topology.modules import topology_of
from headrace.topology.topology import Topology

IN_WORKER = "HEADRACE_WORKER"
"""Set in the workers' environment while they import the user's module."""


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A topology by name: `module.attribute`, and the file that has to be shipped for it."""

    module: str
    attribute: str
    file: str | None
    root: str | None = None
    """The folder from which this host imports the module; the planner and local workers look there too."""
    digest: str = ""
    """Of the file: a worker that has imported another one of that name, or an older version, imports it again."""


@dataclass(frozen=True, slots=True)
class Shipment:
    """All that a worker needs to know of a run of an application."""

    run: str
    incarnation: str
    topology: ModuleRef | Topology
    config: StreamsConfig
    topics: Mapping[str, int]
    slots: int
    channel: Channel | None = None
    """Where workers tell how far a restore is."""
    task_count: int | None = None
    """After a rescaling: how many tasks there are."""

    def pack(self) -> str:
        """Text, so that it can be an option of a Spark source."""
        try:
            pickled: bytes = cloudpickle.dumps(self)  # type: ignore[no-untyped-call]
            ref = self.topology if isinstance(self.topology, ModuleRef) else None
            module: bytes = cloudpickle.dumps(ref)  # type: ignore[no-untyped-call]
            return f"{base64.b85encode(module).decode()} {base64.b85encode(pickled).decode()}"
        except Exception as error:
            raise StartError(
                f"the topology cannot be sent to the workers: {error}; put it into a module of its own, "
                "as a variable at the top level, and start it with `headrace run module.py`"
            ) from error


def unpack(text: str) -> Shipment:
    """The inverse of `Shipment.pack`. The user's module is imported first: handlers in the settings are of it, too."""
    module, shipment = (base64.b85decode(part) for part in text.split(" "))
    ref = cast("ModuleRef | None", cloudpickle.loads(module))
    if ref is not None:
        _import(ref)
    return cast(Shipment, cloudpickle.loads(shipment))


def reference(topology: Topology) -> ModuleRef | None:
    """The module and attribute that hold this topology, if any."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("headrace", "pyspark") or not isinstance(module, ModuleType):
            continue
        for attribute, value in list(vars(module).items()):
            if value is topology:
                return _named(name, attribute, module)
    return None


def _named(name: str, attribute: str, module: ModuleType) -> ModuleRef | None:
    file = getattr(module, "__file__", None)
    if name == "__main__":
        if file is None:
            return None
        stem = Path(file).stem
        if not stem.isidentifier():
            return None
        # Of a query that is started again the script has its name already.
        if sys.modules.get(stem) is not module and _is_another(stem, file):
            return None
        if not _has_on_import(file, attribute):
            return None
        # What the workers write with a type's name must be found under that name here, too.
        sys.modules.setdefault(stem, module)
        name = stem
    spec = getattr(module, "__spec__", None)
    packaged = "." in name or (spec is not None and spec.submodule_search_locations is not None)
    if file is None:
        return ModuleRef(name, attribute, None)
    path = Path(file).resolve()
    root = path.parents[name.count(".") + (path.stem == "__init__")]
    if packaged:
        return ModuleRef(name, attribute, None, str(root))
    return ModuleRef(name, attribute, str(path), str(root), hashlib.sha256(path.read_bytes()).hexdigest())


def _has_on_import(file: str, attribute: str) -> bool:
    try:
        return attribute in made_on_import(ast.parse(Path(file).read_bytes()))
    except (OSError, SyntaxError, ValueError):
        return False  # what runs is in a zip, or no source: nobody can import it by its name


def made_on_import(node: ast.AST) -> Iterator[str]:
    """The names that whoever imports a script finds in it: not those that are made for `__main__` alone."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name
    elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        guarded = isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
        for child in node.orelse if guarded else ast.iter_child_nodes(node):  # type: ignore[attr-defined]
            yield from made_on_import(child)


def _is_another(stem: str, file: str) -> bool:
    """Whether the workers would import something else under the name of a script."""
    return importlib.util.find_spec(stem) is not None and stem not in _local(file)


def _local(file: str) -> tuple[str, ...]:
    """The module name of a script that lies in the folder it was started from."""
    folder = Path(file).resolve().parent
    return (Path(file).stem,) if str(folder) in (str(Path(p).resolve()) for p in sys.path) else ()


def resolve(topology: ModuleRef | Topology) -> Topology:
    """The topology, in a worker: imported by name, or as it came."""
    if isinstance(topology, Topology):
        return topology
    module = _import(topology)
    found = getattr(module, topology.attribute, None)
    # The command keeps under that name what a function or a builder of the file has made.
    return found if isinstance(found, Topology) else topology_of(module)


def _import(ref: ModuleRef) -> ModuleType:
    os.environ[IN_WORKER] = "1"
    if ref.root is not None and ref.root not in sys.path and Path(ref.root).is_dir():
        sys.path.append(ref.root)
    # What the file prints when it is imported was seen when the driver did so.
    with contextlib.redirect_stdout(io.StringIO()):
        return _imported_anew(ref) or importlib.import_module(ref.module)


_digests: dict[str, str] = {}
"""Of the files that this worker has imported, by the names of their modules."""


def _forget_what_was_sent_before(ref: ModuleRef) -> None:
    """On a cluster a worker that lives on gets a changed application as another zip, in front of the older one."""
    if _digests.setdefault(ref.module, ref.digest) != ref.digest:
        _digests[ref.module] = ref.digest
        for name, module in list(sys.modules.items()):
            if is_sent(getattr(module, "__file__", None)):
                del sys.modules[name]
        importlib.invalidate_caches()


def _imported_anew(ref: ModuleRef) -> ModuleType | None:
    """The module from its very file, if this host has it; None: it was shipped, and is found by its name."""
    if ref.file is None or not Path(ref.file).is_file():
        _forget_what_was_sent_before(ref)
        return None
    known = sys.modules.get(ref.module)
    if known is not None and _digests.get(ref.module) == ref.digest:
        return known
    spec = importlib.util.spec_from_file_location(ref.module, ref.file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[ref.module] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[ref.module]
        raise
    _digests[ref.module] = ref.digest
    return module
