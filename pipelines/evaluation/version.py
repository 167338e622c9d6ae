"""The version of the code that made a figure: the distribution's, and a hash over the library's sources.

What belongs here: that one string. A hash of sources holds in a wheel and in a changed checkout, where a
commit's id is missing or says less than it seems.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DISTRIBUTION = "espalier-rag"


@lru_cache(maxsize=1)
def code_version() -> str:
    """As `0.1.0+src.1a2b3c4d`: any change in `pipelines/` gives another one."""
    try:
        number = version(DISTRIBUTION)
    except PackageNotFoundError:
        number = "0"
    digest = hashlib.sha256()
    library = Path(__file__).resolve().parent.parent
    for path in sorted(path for ending in ("py", "jinja") for path in library.rglob(f"*.{ending}")):
        digest.update(path.relative_to(library).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{number}+src.{digest.hexdigest()[:8]}"
