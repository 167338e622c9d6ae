"""Answers of language models on disk, by the hash of what was asked: asked once, paid once.

What belongs here: keys and files. What does not: what is asked and how an answer is read. A key is made of
model, endpoint and payload, so that nothing is answered in another's place; it holds no secret. A file is
written whole and renamed; one that cannot be read counts as absent and is written again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.models.llm_settings import is_cache_on
from pipelines.settings import cache_folder

CACHE_FORMAT = 1
MOST_BYTES = 32 << 20
Check = Callable[[dict[str, Any]], object]
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class ResponseCache:
    """A folder of answers, one JSON file each; may be shared between threads and processes."""

    folder: Path

    def get_or_make(self, model: str, endpoint: str, payload: Mapping[str, Any],
                    make: Callable[[], dict[str, Any]], check: Check | None = None) -> tuple[dict[str, Any], bool]:
        """The stored answer, else the one that `make` gives, which is stored; and whether it was stored.

        An answer that cannot be stored is returned all the same. Raises what `make` raises, storing nothing.
        """
        return self.get_or_make_many(model, endpoint, [payload], lambda _: [(0, make())], check)[0]

    def get_or_make_many(self, model: str, endpoint: str, payloads: Sequence[Mapping[str, Any]],
                         make: Callable[[list[int]], Iterable[tuple[int, dict[str, Any]]]],
                         check: Check | None = None) -> list[tuple[dict[str, Any], bool]]:
        """The same for several payloads. make: from the places of those that are not stored, each different one
        once, to (place, answer); what it gave before it raised stays stored. check: raises ValueError for a stored
        answer that does not count, whoever wrote it.
        """
        keys = [cache_key(model, endpoint, payload) for payload in payloads]
        stored = {key: _read(self._path(key), key, check) for key in dict.fromkeys(keys)}
        found = {key: answer for key, answer in stored.items() if answer is not None}
        places = {key: place for place, key in reversed([*enumerate(keys)]) if key not in found}
        if places:
            for place, answer in make(sorted(places.values())):
                found[keys[place]] = answer
                try:
                    _write(self._path(keys[place]),
                           {"key": keys[place], "model": model, "endpoint": endpoint, "answer": answer})
                except OSError as error:
                    _LOG.warning("answer of %s not stored in %s: %s", model, self.folder, error.strerror or error)
        return [(found[key], places.get(key) != place) for place, key in enumerate(keys)]

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def cache_key(model: str, endpoint: str, payload: Mapping[str, Any]) -> str:
    """SHA-256, in hex, over model, endpoint and payload in canonical JSON."""
    asked = {"format": CACHE_FORMAT, "model": model, "endpoint": endpoint, "payload": payload}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def default_cache() -> ResponseCache | None:
    """The user's cache; None where ESPALIER_LLM_CACHE switches it off. Raises UserError for another value."""
    return ResponseCache(cache_folder() / "llm") if is_cache_on() else None


def _read(path: Path, key: str, check: Check | None) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > MOST_BYTES or not path.is_file():
            return None
        stored = json.loads(path.read_bytes())
        if not isinstance(stored, dict) or stored.get("key") != key or not isinstance(stored.get("answer"), dict):
            return None
        answer: dict[str, Any] = stored["answer"]
        if check is not None:
            check(answer)
    except (OSError, ValueError, RecursionError):
        return None
    return answer


def _write(path: Path, value: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(value, stream, ensure_ascii=True)
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)
