"""Types of the fields that the configs of several jobs share, so that what cannot work is told before the work.

What belongs here: checks that need nothing but the value and the file system. What does not: the configs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator


def _has_writable_folder(path: Path) -> Path:
    there = next(folder for folder in path.absolute().parents if folder.exists())
    if not there.is_dir():
        raise ValueError(f"{str(there)!r} is a file, no folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"the folder {str(there)!r} cannot be written")
    return path


def _is_writable_file(path: Path) -> Path:
    if path.is_dir() or path.name in ("", ".."):
        raise ValueError(f"{str(path)!r} is a folder, no file")
    # A device would be replaced, not written to.
    if path.exists() and not path.is_file():
        raise ValueError(f"{str(path)!r} is no regular file")
    return _has_writable_folder(path)


def _is_writable_folder(path: Path) -> Path:
    if path.exists() and not path.is_dir():
        raise ValueError(f"{str(path)!r} is a file, no folder")
    if path.is_dir() and not os.access(path, os.W_OK | os.X_OK):
        raise ValueError(f"the folder {str(path)!r} cannot be written")
    return _has_writable_folder(path)


def _is_router_name(name: str) -> str:
    from training.router_registry import is_name

    if not is_name(name):
        raise ValueError(f"{name!r} is no name of a router: letters, digits, dots, dashes and underscores")
    return name


OutFile = Annotated[Path, AfterValidator(_is_writable_file)]
"""A file that is written when the work is done."""
OutFolder = Annotated[Path, AfterValidator(_is_writable_folder)]
"""A folder that is made or filled when the work is done."""
RouterName = Annotated[str, AfterValidator(_is_router_name)]
"""A name in MLflow's registry of models."""
