"""The Python in the documents: every block of a page, as one module whose line numbers are the page's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r"^```(\w*)\s*$")


@dataclass(frozen=True, slots=True)
class Document:
    """A page of the documentation."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    def blocks(self, language: str) -> list[tuple[int, list[str]]]:
        """The line number and the lines of each block in that language."""
        found: list[tuple[int, list[str]]] = []
        inside: str | None = None
        for number, line in enumerate(self.path.read_text().splitlines(), start=1):
            fence = _FENCE.match(line)
            if inside is not None and line.startswith("```"):
                inside = None
            elif inside is not None:
                if inside == language:
                    found[-1][1].append(line)
            elif fence is not None:
                inside = fence[1]
                if inside == language:
                    found.append((number + 1, []))
        return found

    def module(self) -> str:
        """All Python blocks, with blank lines where the prose is."""
        lines: list[str] = []
        for number, block in self.blocks("python"):
            lines += [""] * (number - 1 - len(lines)) + block
        return "\n".join(lines) + "\n"

    def write_module(self, folder: Path) -> Path:
        """The page as a module that can be imported, run or shipped to workers."""
        file = folder / (re.sub(r"\W+", "_", self.path.stem).lower() + "_page.py")
        file.write_text(self.module())
        return file


DOCUMENTS = [
    Document(path)
    for path in sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
]
WITH_PYTHON = [document for document in DOCUMENTS if document.blocks("python")]
THAT_RUN = [document for document in WITH_PYTHON if "__main__" in document.module()]
"""Pages that start an application, which their tests on Spark do as well."""
