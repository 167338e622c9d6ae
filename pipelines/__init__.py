"""Document-structure trees and structure-aware retrieval: the library, plain Python without engines.

`from pipelines import Corpus` is the way in: `Corpus.open(data).ask(question, method="rdr2")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.api import Answer, Corpus

__all__ = ["Answer", "Corpus"]


def __getattr__(name: str) -> Any:
    # Loaded at first use: importing the package must stay free of numpy, indexes and tables.
    if name in __all__:
        from pipelines import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
