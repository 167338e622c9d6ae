"""Pages to audit, and the worker processes that audit them.

What belongs here: pages out of a served release or a dump, batches, the pool. What does not: what is found in a
page (`page.py`). Pages go through in batches and a bounded number of batches is under way, so that memory
does not grow with the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context

from pipelines.documents.audit.figures import Figures
from pipelines.documents.audit.page import PageAudit, RawPage, audit_page
from pipelines.documents.citation import Address
from pipelines.documents.readers.dump import Page
from pipelines.documents.readers.page_xml import NOT_WIKITEXT
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import PARSER_VERSION
from pipelines.errors import RunFailure, argument
from pipelines.releases import Release
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, batch_rows

BATCH_PAGES = 64
BATCH_CHARACTERS = 1 << 20
WAITING_PER_WORKER = 2
_NOT_READ = ("redirect", "duplicate")
"""Documents of these statuses have no tree of their own."""


def release_pages(data: DataFolder, release: Release) -> Iterator[RawPage]:
    """The raw pages of a release's documents, bucket by bucket; redirects have no words and are left out.

    Raises RunFailure when a table is missing or damaged.
    """
    reader = TableReader(data, release.tables)
    sites = {row["dump_file"]: SiteInfo.from_json(row["siteinfo"])
             for row in TableReader(data).rows("dump_files", ("dump_file", "siteinfo"))}
    columns = ("doc_id", "title", "revision_id", "dump_file", "text")
    for bucket in range(release.n_buckets):
        where = f"bucket = {bucket}"
        asked = {row["doc_id"] for row in reader.rows("documents", ("doc_id", "status", "reason"), where)
                 if row["status"] not in _NOT_READ and not (row["reason"] or "").startswith(NOT_WIKITEXT)}
        for batch in reader.batches("pages", columns, where):
            for row in batch_rows(batch, "pages"):
                if row["doc_id"] in asked:
                    yield RawPage(row["doc_id"], _uri(row["doc_id"], row["revision_id"]), row["title"],
                                  row["text"], sites[row["dump_file"]])


def dump_page(page: Page, site: SiteInfo) -> RawPage | None:
    """A page of a dump, None for a redirect one that is no article, or no wikitext."""
    if page.namespace != 0 or page.redirect_to is not None or page.content_model is not None:
        return None
    doc_id = f"{site.wiki}:{page.page_id}"
    return RawPage(doc_id, _uri(doc_id, page.revision_id), page.title, page.text, site)


def _uri(doc_id: str, revision_id: int) -> str:
    return str(Address(doc_id, str(revision_id), PARSER_VERSION))


def audit_pages(pages: Iterable[RawPage], n_workers: int,
                progress: Callable[[int], None] = lambda _: None) -> Figures:
    """Audit pages in worker processes, with one worker in this one. progress: gets the pages done so far.

    Raises RunFailure when a worker process dies.
    """
    figures = Figures()
    n_done = 0
    for audits in _audited(batches(pages), n_workers):
        for audit in audits:
            figures.add(audit)
        n_done += len(audits)
        progress(n_done)
    return figures


def batches(pages: Iterable[RawPage]) -> Iterator[list[RawPage]]:
    """Pages in lists of at most BATCH_PAGES, closed when they hold BATCH_CHARACTERS."""
    waiting: list[RawPage] = []
    n_characters = 0
    for page in pages:
        waiting.append(page)
        n_characters += len(page.text or "")
        if len(waiting) >= BATCH_PAGES or n_characters >= BATCH_CHARACTERS:
            yield waiting
            waiting, n_characters = [], 0
    if waiting:
        yield waiting


def audit_batch(pages: list[RawPage]) -> list[PageAudit]:
    """The audits of a batch; runs in a worker."""
    return [audit_page(page) for page in pages]


def _audited(work: Iterator[list[RawPage]], n_workers: int) -> Iterator[list[PageAudit]]:
    if n_workers == 1:
        yield from map(audit_batch, work)
        return
    # New processes rather than forks: the threads that read tables would not survive a fork.
    with ProcessPoolExecutor(n_workers, mp_context=get_context("spawn")) as pool:
        try:
            under_way: set[Future[list[PageAudit]]] = {
                pool.submit(audit_batch, batch) for batch in islice(work, n_workers * WAITING_PER_WORKER)}
            while under_way:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                    under_way |= {pool.submit(audit_batch, batch) for batch in islice(work, 1)}
        except BrokenProcessPool as error:
            raise RunFailure("audit", "a worker process ended before its pages were read",
                             "workers that live, which take memory for their largest page",
                             f"Run it again with fewer {argument('workers')}.") from error
        finally:
            pool.shutdown(cancel_futures=True)
