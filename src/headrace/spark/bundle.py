"""Code for workers on other machines: this package, and the modules of the user that this process has imported.

Both go as zip files that Spark hands to every executor, so nothing but the packages that Headrace needs has to be
installed there, and the driver's version of both runs everywhere. A name contains a checksum of the content: what
changes gets another one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import re
import site
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from types import ModuleType

from headrace.errors import StartError
from headrace.spark.shims import folder

NOT_THEIRS = ("__main__", "headrace", "pyspark", "py4j")
_SENT = re.compile(r"/app-[0-9a-f]{16}\.zip/")
MOST = 64 * 1024 * 1024
"""Bytes of the user's code: more are surely not code."""


@cache
def headrace_zip() -> Path:
    """The package of Headrace, compiled: the workers would compile it in every process otherwise."""
    package = Path(__file__).parents[1]
    if not package.is_dir():
        return package.parent  # it is imported from a zip already
    return _write("headrace", _tree(package), compiled=True)


def user_zip() -> Path | None:
    """The modules that this process has imported and no package manager has installed; None when there are none."""
    files = user_files()
    size = sum(path.stat().st_size for path in files.values())
    if size > MOST:
        largest = max(files, key=lambda name: files[name].stat().st_size)
        raise StartError(
            f"the modules of the application have {size:,} bytes with what lies beside them, the largest is "
            f"`{largest}`: keep data out of the packages, or install them on all hosts of the cluster"
        )
    return _write("app", files) if files else None


def user_files() -> dict[str, Path]:
    """What `user_zip` packs: the path inside -> the file. Of a package it is the whole folder.

    The script that runs here is taken if it has a name beside `__main__`, under which workers import it.
    """
    found: dict[str, Path] = {}
    for name, module in list(sys.modules.items()):
        top = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        if not isinstance(module, ModuleType) or file is None or top in NOT_THEIRS:
            continue
        path = Path(file).resolve()
        if path.suffix != ".py" or not path.is_file() or _is_installed(path):
            continue
        if path.name == "__init__.py":
            found |= _tree(path.parent, name.replace(".", "/"))
        else:
            found[f"{name.replace('.', '/')}.py"] = path
    return found


def is_sent(file: str | None) -> bool:
    """Whether a module comes from a zip of the user's code."""
    return file is not None and _SENT.search(file) is not None


def _tree(package: Path, name: str | None = None) -> dict[str, Path]:
    """All files of a package, without what Python and editors leave there."""
    return {
        f"{name or package.name}/{path.relative_to(package).as_posix()}": path
        for path in sorted(package.rglob("*"))
        if path.is_file()
        and not any(part == "__pycache__" or part.startswith(".") for part in path.relative_to(package).parts)
    }


def _is_installed(path: Path) -> bool:
    return any(place in path.parents for place in _installed()) or "site-packages" in path.parts


@cache
def _installed() -> tuple[Path, ...]:
    """Where the standard library and installed packages are."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    places = [sysconfig.get_path(name) for name in names]
    return tuple(Path(place).resolve() for place in (*places, *site.getsitepackages()))


def _write(name: str, files: Mapping[str, Path], *, compiled: bool = False) -> Path:
    """A zip of these files in the temporary folder; the same content is written once."""
    contents = {inside: path.read_bytes() for inside, path in sorted(files.items())}
    digest = hashlib.sha256(f"1 {sys.version if compiled else ''}".encode())
    for inside, content in contents.items():
        digest.update(f"{inside} {len(content)} ".encode() + content)
    target = folder() / f"{name}-{digest.hexdigest()[:16]}.zip"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as archive:
            # A package without an `__init__.py` is only found where its folder is in the zip, too.
            for parent in sorted(
                {str(p) for inside in contents for p in PurePosixPath(inside).parents} - {"."}
            ):
                _add(archive, f"{parent}/", b"")
            for inside, content in contents.items():
                _add(archive, inside, content)
                if compiled and inside.endswith(".py"):
                    _add(archive, inside + "c", _compile(content, inside))
        fresh.replace(target)
    return target


def _add(archive: zipfile.ZipFile, inside: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(inside, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)


def _compile(source: bytes, name: str) -> bytes:
    """Bytecode that is not compared with its source. Another version of Python compiles the source itself."""
    code = marshal.dumps(compile(source, name, "exec", dont_inherit=True))
    by_hash_unchecked = (1).to_bytes(4, "little")
    return importlib.util.MAGIC_NUMBER + by_hash_unchecked + importlib.util.source_hash(source) + code
