"""Reading dump files in Spark's Python workers: which part of which file, and pages as Arrow batches.

What belongs here: the plan of splits and the generator that runs in a task. What does not: what becomes of
the pages (`pages.py`) and the XML (`pipelines/documents/readers/dump.py`). A task holds one batch of pages
at a time. A fault in a file ends only its split; it is reported as data, so that good files go on.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.documents.readers.dump import DumpError, Page, PageFault, iter_pages, read_site_info
from pipelines.documents.readers.multistream import Borders, split_borders
from pipelines.documents.readers.namespaces import is_language
from pipelines.documents.readers.page_xml import mismatch
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.dump_files import DumpFile
from pipelines.errors import UserError, argument
from pipelines.schemas import PAGES, arrow_type
from pipelines.storage import bucket_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast

    from spark_jobs.known_pages import KnownPages

MINIMUM_SPLIT_BYTES = 4 << 20
"""Compressed bytes: a smaller part of a file is not worth a task."""
MAXIMUM_SPLIT_BYTES = 128 << 20
"""A larger part would be too much to read again when a worker is lost, and its page ids too much for a row."""
SPLITS_PER_CORE = 3
BATCH_BYTES = 4 << 20
"""Text of one Arrow batch; what a task holds is a batch and the largest page."""

# A page row has `split`, `position`, `is_known` and `verified` beside the table's columns; a row with `report` ends
# each split.
EXTRA_COLUMNS = (("split", "int"), ("position", "bigint"), ("is_known", "boolean"),
                 ("verified", "boolean"), ("report", "string"),
                 ("page_ids", "array<bigint>"))
STAGED_DDL = ", ".join(f"`{name}` {kind}" for name, kind in (
    *((column.name, column.type) for column in PAGES.columns), *EXTRA_COLUMNS))


@dataclass(frozen=True)
class Split:
    """A part of a dump file: the pages that begin in [start, end) bytes; None means the whole file."""

    file: DumpFile
    wiki: str
    start: int | None
    end: int | None


WIKI_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""What a wiki may be called: its name is the first part of every document id, citation and unit id."""


def wiki_of(file: DumpFile, wiki: str | None) -> SiteInfo:
    """The wiki of a dump file, named `wiki` if given, else by its dbname.

    Raises DumpError when the head of the file cannot be read, UserError when nothing names the wiki.
    """
    info = read_site_info(file.path)
    name = wiki or info.wiki
    if name is None:
        raise UserError(f"dump {file.path}", "it does not name its wiki (no <dbname> in <siteinfo>)",
                        "a database name such as enwiki", f"Name it with {argument('wiki', 'NAME')}.")
    if not WIKI_NAME.fullmatch(name):
        raise UserError(f"dump {file.path}", f"the wiki name {name!r}",
                        "a database name of letters, digits, _ and -, such as enwiki",
                        f"Name it with {argument('wiki', 'NAME')}.")
    prefix = name.removesuffix("wiki").replace("_", "-")
    language = info.language or (prefix if is_language(prefix) else "")
    return replace(info, wiki=name, language=language)


def plan_splits(file: DumpFile, wiki: str, cores: int) -> list[Split]:
    """The splits of a file, in its order: several of a multistream bz2, else one."""
    return splits_at(file, wiki, find_borders(file, cores))


def find_borders(file: DumpFile, cores: int) -> Borders:
    """Where the splits of a file begin: some for every core, and none too small or too large for a task."""
    wanted = file.size_bytes // (cores * SPLITS_PER_CORE)
    return split_borders(file.path, max(MINIMUM_SPLIT_BYTES, min(MAXIMUM_SPLIT_BYTES, wanted)))


def splits_at(file: DumpFile, wiki: str, borders: Borders) -> list[Split]:
    """The splits between the borders; one, of the whole file, where there are none."""
    starts = borders.offsets
    if len(starts) < 2:
        return [Split(file, wiki, None, None)]
    return [Split(file, wiki, start, end) for start, end in zip(starts, [*starts[1:], None], strict=True)]


def read_splits(batches: Iterable[pa.RecordBatch], splits: list[Split], n_buckets: int, batch_rows: int,
                known: Broadcast[KnownPages] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of STAGED_DDL for the splits whose numbers come in the column `id`.

    known: pages whose rows have no text, but `is_known`.
    """
    known_pages = known.value if known is not None else None
    for batch in batches:
        for number in batch.column("id").to_pylist():
            yield from _read_split(number, splits[number], n_buckets, batch_rows, known_pages)


def _read_split(number: int, split: Split, n_buckets: int, batch_rows: int,
                known: KnownPages | None) -> Iterator[pa.RecordBatch]:
    rows: list[dict[str, Any]] = []
    n_bytes = n_pages = 0
    page_ids: list[int] = []
    n_checked = 0
    rejects: list[PageFault] = []
    mismatches: list[PageFault] = []
    report: dict[str, Any] = {"error": None, "offset": None}
    try:
        for page in iter_pages(split.file.path, start=split.start, end=split.end, reject=rejects.append):
            n_checked += page.verified is not None
            if page.verified is False:
                mismatches.append(mismatch(page))
            row = _row(page, split, n_buckets, number, n_pages)
            if known is not None and known.has(row):
                row |= {"text": None, "is_known": True}
            rows.append(row)
            page_ids.append(page.page_id)
            n_pages += 1
            n_bytes += len(row["text"] or "")
            if len(rows) >= batch_rows or n_bytes >= BATCH_BYTES:
                yield _batch(rows)
                rows, n_bytes = [], 0
    except DumpError as error:
        why = list(error.parts[1:])
        if error.offset is None:
            # The driver has opened the file: what keeps a task from it is the machine that the task runs on.
            why[0] += f" (on worker {socket.gethostname()})"
            why[2] = "Put the file where every Spark worker finds it under this path."
        report = {"error": why, "offset": error.offset}
    # A page that is not taken is in the dump all the same.
    page_ids += [fault.page_id for fault in rejects if fault.page_id is not None]
    report |= {"n_pages": n_pages, "n_checked": n_checked, "file": split.file.key,
               "n_nameless": sum(fault.page_id is None for fault in rejects),
               "rejects": [_reject(split, fault) for fault in rejects],
               "mismatches": [_reject(split, fault) for fault in mismatches]}
    rows.append({"dump_file": split.file.key, "wiki": split.wiki, "split": number, "report": json.dumps(report),
                 "page_ids": page_ids})
    yield _batch(rows)


def _reject(split: Split, fault: PageFault) -> tuple[str, str, str, str | None]:
    """Reference, reason, detail and sample, as `tables.Reject` has them."""
    return f"{split.file.key}:{fault.place}", fault.reason, fault.detail, fault.sample


def _row(page: Page, split: Split, n_buckets: int, number: int, position: int) -> dict[str, Any]:
    doc_id = f"{split.wiki}:{page.page_id}"
    return {
        "doc_id": doc_id, "bucket": bucket_of(doc_id, n_buckets), "source": "wikipedia",
        "wiki": split.wiki, "page_id": page.page_id, "title": page.title, "namespace": page.namespace,
        "redirect_to": page.redirect_to, "revision_id": page.revision_id,
        "revision_time": page.revision_time, "dump_file": split.file.key, "text": page.text,
        "content_sha256": hashlib.sha256((page.text or "").encode()).hexdigest(),
        "content_model": page.content_model,
        "split": number, "position": position, "is_known": False, "verified": page.verified,
    }


def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist(rows, schema=_staged_schema())


def _staged_schema() -> Any:
    import pyarrow as pa

    return pa.schema([*((column.name, arrow_type(column.type)) for column in PAGES.columns),
                      *((name, arrow_type(kind)) for name, kind in EXTRA_COLUMNS)])
