"""The code that is sent to other machines."""

from __future__ import annotations

import importlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from headrace.errors import StartError
from headrace.spark import bundle
from headrace.spark.bundle import headrace_zip, user_files, user_zip


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module, a package with data, and a part of a package without `__init__.py`, all imported."""
    files = {
        "bundle_rules.py": "LIMIT = 3",
        "bundle_shop/__init__.py": "",
        "bundle_shop/models.py": "from bundle_rules import LIMIT",
        "bundle_shop/later.py": "WORD = 'imported when it is needed'",
        "bundle_shop/prices.json": "{}",
        "bundle_shop/__pycache__/old.pyc": "",
        "bundle_open/part.py": "import bundle_shop.models",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("bundle_open.part", "bundle_shop.models"):
        importlib.import_module(name)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("bundle_")]:
        del sys.modules[name]


def ours(files: object) -> list[str]:
    return sorted(name for name in files if name.startswith("bundle_"))  # type: ignore[attr-defined]


def test_what_was_imported_is_taken_and_packages_as_a_whole(modules: Path) -> None:
    assert ours(user_files()) == [
        "bundle_open/part.py",
        "bundle_rules.py",
        "bundle_shop/__init__.py",
        "bundle_shop/later.py",
        "bundle_shop/models.py",
        "bundle_shop/prices.json",
    ]


def test_what_is_installed_is_not_taken(modules: Path) -> None:
    tops = {name.partition("/")[0].removesuffix(".py") for name in user_files()}
    assert not tops & {"headrace", "pyspark", "py4j", "pytest", "msgspec", "json", "importlib"}


def test_another_machine_can_import_it(modules: Path) -> None:
    file = user_zip()
    assert file is not None
    assert user_zip() == file, "the same content has the same name"
    code = "import bundle_open.part, bundle_shop.later, sys; print(sys.modules['bundle_rules'].__file__)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(file)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    assert done.stdout.strip() == f"{file}/bundle_rules.py"
    (modules / "bundle_rules.py").write_text("LIMIT = 4")
    assert user_zip() != file


def test_a_script_goes_under_its_own_name(modules: Path) -> None:
    (modules / "bundle_script.py").write_text(
        "from headrace import StreamsBuilder\n"
        "from headrace.spark.bundle import user_files\n"
        "from headrace.spark.ship import reference\n"
        "import bundle_rules\n"
        "builder = StreamsBuilder()\n"
        "builder.stream('in', value=str).to('out')\n"
        "topology = builder.build()\n"
        "print(reference(topology).module, *sorted(user_files()))\n"
    )
    done = subprocess.run(
        [sys.executable, "bundle_script.py"], capture_output=True, text=True, check=True, cwd=modules
    )
    assert done.stdout.split() == ["bundle_script", "bundle_rules.py", "bundle_script.py"]


def test_data_beside_the_code_has_a_limit(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST", 1000)
    (modules / "bundle_shop" / "prices.json").write_text(" " * 100_000)
    with pytest.raises(StartError, match=r"the largest is `bundle_shop/prices.json`: keep data out"):
        user_zip()


def test_headrace_comes_compiled_and_is_imported_from_there() -> None:
    file = headrace_zip()
    assert "headrace/spark/stage.pyc" in zipfile.ZipFile(file).namelist()
    code = f"import sys; sys.path.insert(0, {str(file)!r}); import headrace; print(headrace.__file__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == f"{file}/headrace/__init__.pyc"
