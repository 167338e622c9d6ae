"""The tables of this package that are data: tab-separated files beside the code.

What belongs here: reading one. Each file's head says how its lines are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files


def rows(name: str) -> Iterator[list[str]]:
    """The lines of a file as lists of its columns; lines that begin with # and empty ones are left out."""
    text = files("pipelines.documents.readers.templates").joinpath(name).read_text(encoding="utf-8")
    return (line.split("\t") for line in text.splitlines() if line and line[0] != "#")
