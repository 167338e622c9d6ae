"""Deletion vectors of a Delta table: rows of a file that an update has replaced or removed, without a new file.

What belongs here: which vectors count at a version, in which files they are kept, how many rows are left. What
does not: reading rows, which delta-rs does with them (`storage.py`). It tells neither their files, which its
vacuum takes for unneeded, nor their number of rows, so that both are read from the log as Delta's protocol lays
it down: the newest checkpoint up to the version, and the commits behind it.
"""

from __future__ import annotations

import base64
import io
import json
import re
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from pipelines import files
from pipelines.errors import RunFailure

FEATURE = "deletionVectors"
PROPERTY = "delta.enableDeletionVectors"
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.\d{10})?\.parquet")
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_B85 = str.maketrans(_Z85, _B85)
_UUID_CHARACTERS = 20


class DeletionVector(NamedTuple):
    """One vector. data_file, file: relative to the table's folder; file: None where the log itself holds it.
    n_rows: how many rows of the data file no longer count. unique_id: of two vectors of a table never the same."""

    data_file: str
    file: str | None
    n_rows: int
    unique_id: str


def deletion_vectors(delta: Any, folder: str) -> list[DeletionVector]:
    """The vectors of an opened `deltalake.DeltaTable` at its version.

    folder: of the table, as it was opened: what delta-rs says of it is another spelling.
    Raises RunFailure when the log is not complete.
    """
    if FEATURE not in (delta.protocol().reader_features or ()):
        return []
    log = f"{folder}/_delta_log"
    version = int(delta.version())
    try:
        vectors: dict[str, dict[str, Any]] = {}
        since = 0
        if checkpoint := _newest_checkpoint(log, version):
            since, names = checkpoint
            vectors = dict(_of_checkpoint(f"{log}/{name}" for name in names))
            since += 1
        for number in range(since, version + 1):
            _apply(files.read_text(f"{log}/{number:020}.json"), vectors)
    except (OSError, ValueError) as error:
        raise RunFailure(f"Delta log {log}", f"version {version} cannot be put together ({error})",
                         "every commit since the newest checkpoint",
                         "Restore the folder, or build into a new one.") from error
    return [DeletionVector(path, _file_of(vector), int(vector["cardinality"]),
                           f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}")
            for path, vector in sorted(vectors.items())]


def live_rows(delta: Any, folder: str) -> int:
    """Rows of the table at its version by the statistics in its log, without reading a data file."""
    written = sum(delta.get_add_actions(flatten=True).column("num_records").to_pylist())
    return int(written) - sum(vector.n_rows for vector in deletion_vectors(delta, folder))


def row_places(delta: Any, folder: str) -> list[tuple[str, str]]:
    """Where the version's rows are: its data files relative to the folder, each with the id of its vector ("" for
    none), sorted. Equal lists mean equal rows."""
    vectors = {vector.data_file: vector.unique_id for vector in deletion_vectors(delta, folder)}
    paths = map(unquote, delta.get_add_actions(flatten=True).column("path").to_pylist())
    return sorted((path, vectors.get(path, "")) for path in paths)


def _newest_checkpoint(log: str, version: int) -> tuple[int, list[str]] | None:
    """Version and files of the newest checkpoint up to a version; one in parts counts when no part is missing."""
    found: dict[int, list[str]] = {}
    for name in files.list_folder(log):
        if (match := _CHECKPOINT.fullmatch(name)) and int(match[1]) <= version:
            found.setdefault(int(match[1]), []).append(name)
    for number in sorted(found, reverse=True):
        names = found[number]
        parts = int(names[0].split(".")[3]) if names[0].count(".") > 2 else 1
        if len(names) == parts:
            return number, names
    return None


def _of_checkpoint(paths: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow.parquet as pq

    for path in paths:
        parquet = pq.ParquetFile(io.BytesIO(files.read_bytes(path)))
        for batch in parquet.iter_batches(columns=["add.path", "add.deletionVector"]):
            for row in batch.column("add").to_pylist():
                if row and row.get("deletionVector"):
                    yield unquote(row["path"]), row["deletionVector"]


def _apply(commit: str, vectors: dict[str, dict[str, Any]]) -> None:
    """A commit's actions. A new vector of a file is an `add` beside the `remove` of its old one, in any order."""
    actions = [json.loads(line) for line in commit.splitlines()]
    for action in actions:
        if removed := action.get("remove"):
            vectors.pop(unquote(removed["path"]), None)
    for action in actions:
        if (added := action.get("add")) and added.get("deletionVector"):
            vectors[unquote(added["path"])] = added["deletionVector"]


def _file_of(vector: dict[str, Any]) -> str | None:
    """Where a vector is kept. Raises ValueError for a kind that this project's tables do not have."""
    kind, place = vector["storageType"], vector["pathOrInlineDv"]
    if kind == "i":
        return None
    if kind != "u":
        raise ValueError(f"a deletion vector of the kind {kind!r}")
    prefix, encoded = place[:-_UUID_CHARACTERS], place[-_UUID_CHARACTERS:]
    name = f"deletion_vector_{uuid.UUID(bytes=base64.b85decode(encoded.translate(_TO_B85)))}.bin"
    return f"{prefix}/{name}" if prefix else name
