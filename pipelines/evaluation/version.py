"""The version of the code that made a figure: the distribution's, and a hash over the library's sources.

What belongs here: that one string. A hash of sources holds in a wheel and in a changed checkout, where a
commit's id is missing or says less than it seems.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable

DISTRIBUTION = "espalier-rag"


@lru_cache(maxsize=1)
def code_version() -> str:
    """As `0.1.0+src.1a2b3c4d`: any change in `pipelines/` gives another one."""
    try:
        number = version(DISTRIBUTION)
    except PackageNotFoundError:
        number = "0"
    digest = hashlib.sha256()
    for name, content in sorted(_sources(files("pipelines"), "")):
        digest.update(name.encode() + b"\0" + content + b"\0")
    return f"{number}+src.{digest.hexdigest()[:8]}"


def _sources(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        name = f"{prefix}/{entry.name}"
        if entry.is_dir():
            found += _sources(entry, name)
        elif entry.name.endswith((".py", ".jinja")):
            found.append((name, entry.read_bytes()))
    return found
