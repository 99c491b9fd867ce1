"""Loading a user's file as a module, and finding the topology in it."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from headrace.config import StreamsConfig, config_of
from headrace.errors import ConfigError, HeadraceError, StartError
from headrace.origin import NOWHERE, Origin, raised_at
from headrace.topology.modules import topology_of
from headrace.topology.topology import Topology


def load_module(path: str | Path) -> ModuleType:
    """Import a file under its own name, so that its classes are the same here and in the workers."""
    file = Path(path).resolve()
    if not file.is_file():
        raise StartError(f"there is no file `{path}`")
    if file.suffix != ".py":
        raise StartError(f"`{path}` is not a Python file: its name must end with `.py`")
    name = file.stem
    if not name.isidentifier():
        raise StartError(f"`{file.name}` cannot be imported: rename it to letters, digits and `_`")
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(name)
    except HeadraceError:
        raise
    except Exception as error:
        raise StartError(
            f"importing `{path}` raised {type(error).__name__}: {error}", origin=_origin(error)
        ) from error
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != file:
        raise StartError(f"another module is called `{name}` ({found}): rename `{file.name}`")
    return module


def _origin(error: Exception) -> Origin | None:
    """The line that raised; of a file that cannot be compiled Python's own message has it."""
    found = raised_at(error)
    return None if isinstance(error, SyntaxError) or found == NOWHERE else found


def find_topology(module: ModuleType) -> Topology:
    """The module's topology; one that is built by a function or left in a `builder` is kept as `topology`."""
    topology = module.__dict__["topology"] = topology_of(module)
    return topology


def add_application_options(parser: argparse.ArgumentParser) -> None:
    """The file, and whatever of its settings says where the application's topics and stores are."""
    parser.add_argument("app", help="a Python file with `topology = builder.build()`")
    parser.add_argument("--application-id", help="default: the name of the file")
    parser.add_argument("--bootstrap-servers", help="Kafka's brokers; default: the embedded log")
    parser.add_argument("--data-dir", help="the embedded log and the local stores (default .headrace)")
    parser.add_argument("--state-dir", help="the local stores, if they are to be elsewhere")


def application_of(args: argparse.Namespace, **settings: object) -> tuple[Topology, StreamsConfig]:
    """What the file builds, and its settings with those of the command line on top."""
    module = load_module(args.app)
    topology = find_topology(module)
    named = ("application_id", "bootstrap_servers", "data_dir", "state_dir")
    return topology, find_config(module, **{name: getattr(args, name) for name in named}, **settings)


def find_config(module: ModuleType, **settings: object) -> StreamsConfig:
    """The module's `config` with what the command line says on top; the file's name is the application id."""
    given = {name: value for name, value in settings.items() if value is not None}
    config = getattr(module, "config", None)
    if config is None:
        config = {}
    if isinstance(config, StreamsConfig):
        config = {f: getattr(config, f) for f in StreamsConfig.__dataclass_fields__}
    if not isinstance(config, Mapping) or not all(isinstance(name, str) for name in config):
        raise ConfigError(
            f"`config` of `{module.__name__}` must be a `StreamsConfig` or a dict of settings by name, got {config!r}"
        )
    default = {"application_id": module.__name__.replace("_", "-")}
    try:
        return config_of({**default, **config, **given})
    except ConfigError as error:
        # The line that asked for it is the command's, not the user's.
        raise ConfigError(
            f"{error.message} (in the options, or in `config` of `{module.__name__}`)"
        ) from error
