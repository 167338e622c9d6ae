"""Types of the fields that the configs of several jobs share, so that what cannot work is told before the work.

What belongs here: checks that need nothing but the value and the file system. What does not: the configs.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from pipelines.curation.class_tags import TAGS, most_of_each


def _local(path: Path) -> Path:
    """The path with ~ expanded. Raises ValueError for an address, which would become a folder named s3:."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", str(path)):
        raise ValueError(f"{str(path)!r} is an address: results are written to a local path")
    if "\0" in str(path):
        raise ValueError(f"{str(path)!r} is no path")
    return path.expanduser()


def _check_folder(path: Path) -> None:
    """Raise ValueError unless files can be made where the path lies, tried by one without a name."""
    try:
        path.exists()  # Raises for names that are too long.
        there = next(folder for folder in path.absolute().parents if folder.exists())
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be written: {error.strerror}") from None


def _is_writable_file(given: Path) -> Path:
    path = _local(given)
    _check_folder(path)
    if path.is_dir() or path.name in ("", ".."):
        raise ValueError(f"{str(path)!r} is a folder, no file")
    # A device would be replaced, not written to.
    if path.exists() and not path.is_file():
        raise ValueError(f"{str(path)!r} is no regular file")
    return path


def _is_writable_folder(given: Path) -> Path:
    path = _local(given)
    _check_folder(path / "file")
    return path


def _are_shares(at_most: dict[str, float]) -> dict[str, float]:
    most_of_each(dict.fromkeys(TAGS, 1), at_most)
    return at_most


def _is_router_name(name: str) -> str:
    from training.router_registry import is_name

    if not is_name(name):
        raise ValueError(f"{name!r} is no name of a router: letters, digits, dots, dashes and underscores")
    return name


LargestShares = Annotated[dict[str, float], AfterValidator(_are_shares)]
"""Class → its largest share."""
OutFile = Annotated[Path, AfterValidator(_is_writable_file)]
"""A file that is written when the work is done."""
OutFolder = Annotated[Path, AfterValidator(_is_writable_folder)]
"""A folder that is made or filled when the work is done."""
RouterName = Annotated[str, AfterValidator(_is_router_name)]
"""A name in MLflow's registry of models."""
