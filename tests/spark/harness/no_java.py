"""A machine without Java: a PATH that has everything but that."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def path_without_java(folder: Path) -> dict[str, str]:
    """The variables of an environment in which no Java is found, made with a folder of links to all other commands."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for command in Path(place).glob("*"):
            if not command.name.startswith(("java", "jar")):
                with suppress(FileExistsError):
                    (folder / command.name).symlink_to(command)
    return {"PATH": str(folder), "JAVA_HOME": ""}
