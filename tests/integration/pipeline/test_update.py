"""An update of real articles: exactly the rows that must change do, and unchanged text keeps its vector.

The articles are a few of the sample's, in a first dump as they are and in a second, the whole wiki again, with
one sentence edited, a section moved, a page renamed, a page deleted and one added.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from built import Built, build_into
from pyspark.sql import SparkSession
from small_wiki import write_pages

from jobs.build import BuildRequest, BuildSummary, build
from pipelines.documents.readers.dump import Page, iter_pages, sample_dump_path
from pipelines.releases import list_releases
from pipelines.schemas import RELEASED_TABLES, TABLES
from pipelines.settings import DataFolder
from pipelines.storage import TableReader

EDITED, MOVED, RENAMED, DELETED, ADDED = 580, 764, 330, 694, 683
UNTOUCHED = (10, 675)
"""A redirect and an article."""
Rows = dict[tuple[Any, ...], dict[str, Any]]


class Changes(NamedTuple):
    """Keys of the rows of a table that differ between two releases."""

    inserted: set[tuple[Any, ...]]
    updated: set[tuple[Any, ...]]
    deleted: set[tuple[Any, ...]]

    def of(self, page_id: int) -> tuple[int, int, int]:
        """How many of them belong to a page: a document's id begins every key."""
        return tuple(sum(str(key[0]).partition("#")[0] == f"enwiki:{page_id}" for key in keys)  # type: ignore[return-value]
                     for keys in self)


class Update(NamedTuple):
    """The tables of both releases, how they differ, and what the second build said of itself."""

    data: DataFolder
    before: dict[str, Rows]
    after: dict[str, Rows]
    changes: dict[str, Changes]
    summary: BuildSummary


def replaced(page: Page, old: str, new: str) -> Page:
    assert page.text is not None
    assert page.text.count(old) == 1, old
    return page._replace(text=page.text.replace(old, new), revision_id=page.revision_id + 1)


def with_moved_section(page: Page) -> Page:
    """The section Ecology in front of the section Systematics."""
    assert page.text is not None
    head, systematics, rest = page.text.partition("==Systematics==")
    systematics_text, ecology, rest = rest.partition("==Ecology==")
    ecology_text, following, rest = rest.partition("\n==")
    moved = head + ecology + ecology_text + "\n" + systematics + systematics_text + following + rest
    return page._replace(text=moved, revision_id=page.revision_id + 1)


def rows(data: DataFolder, versions: Mapping[str, int]) -> dict[str, Rows]:
    reader = TableReader(data, versions)
    return {name: {tuple(row[column] for column in TABLES[name].key): row for row in reader.rows(name)}
            for name in RELEASED_TABLES}


def difference(before: Rows, after: Rows) -> Changes:
    return Changes(set(after) - set(before), {key for key in set(before) & set(after) if before[key] != after[key]},
                   set(before) - set(after))


@pytest.fixture(scope="module")
def update(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Update:
    folder: Path = tmp_path_factory.mktemp("update")
    sample = {page.page_id: page for page in iter_pages(sample_dump_path())}
    kept = {page_id: sample[page_id] for page_id in (EDITED, MOVED, RENAMED, *UNTOUCHED)}
    first: Built = build_into(folder / "data",
                              write_pages(folder / "first.xml", [*kept.values(), sample[DELETED]]))
    # Both changes keep the lengths, so that no place in the rest of the page moves.
    kept[EDITED] = replaced(kept[EDITED], "approximately 7,000 members", "approximately 7,400 members")
    kept[RENAMED] = kept[RENAMED]._replace(title="Actrice", revision_id=kept[RENAMED].revision_id + 1)
    kept[MOVED] = with_moved_section(kept[MOVED])
    second = write_pages(folder / "second.xml", [sample[ADDED], *reversed(kept.values())])
    summary = build(first.data, BuildRequest(wikipedia=(str(second),), full_snapshot=True))
    old, new = list_releases(first.data)
    before, after = rows(first.data, old.tables), rows(first.data, new.tables)
    changes = {name: difference(before[name], after[name]) for name in RELEASED_TABLES}
    return Update(first.data, before, after, changes, summary)


def test_no_row_is_written_that_need_not_change(update: Update) -> None:
    for name in RELEASED_TABLES:
        assert update.summary.tables[name]["changed"] == sum(map(len, update.changes[name])), name
        for page_id in UNTOUCHED:
            assert update.changes[name].of(page_id) == (0, 0, 0), (name, page_id)


def test_an_edited_sentence_changes_one_row_of_each_table(update: Update) -> None:
    counts = {name: update.changes[name].of(EDITED) for name in RELEASED_TABLES}
    # A passage is named by its text: the old one goes, another comes.
    assert counts == {"pages": (0, 1, 0), "documents": (0, 1, 0), "tree_nodes": (0, 1, 0),
                      "sentences": (0, 1, 0), "units": (1, 0, 1), "embeddings": (1, 0, 1)}
    [key] = [key for key in update.changes["sentences"].updated if key[0] == f"enwiki:{EDITED}"]
    assert "7,000" in update.before["sentences"][key]["text"]
    assert "7,400" in update.after["sentences"][key]["text"]


def test_a_renamed_page_changes_its_title_and_what_is_embedded_under_it(update: Update) -> None:
    assert {name: update.changes[name].of(RENAMED) for name in ("pages", "documents", "tree_nodes", "sentences")
            } == {"pages": (0, 1, 0), "documents": (0, 1, 0), "tree_nodes": (0, 1, 0), "sentences": (0, 0, 0)}
    n_units = sum(row["doc_id"] == f"enwiki:{RENAMED}" for row in update.before["units"].values())
    assert n_units > 3
    assert update.changes["units"].of(RENAMED) == update.changes["embeddings"].of(RENAMED) == (n_units, 0, n_units)


def test_a_moved_section_keeps_its_words_and_the_vectors_of_passages_within_it(update: Update) -> None:
    def texts(tables: dict[str, Rows], name: str) -> list[str]:
        return sorted(row["text"] for row in tables[name].values() if row["doc_id"] == f"enwiki:{MOVED}")

    assert texts(update.before, "sentences") == texts(update.after, "sentences")
    assert update.changes["tree_nodes"].of(MOVED)[0] == update.changes["tree_nodes"].of(MOVED)[2] == 0
    kept = set(texts(update.before, "units")) & set(texts(update.after, "units"))
    assert len(kept) > 2
    inserted, updated, deleted = update.changes["embeddings"].of(MOVED)
    assert updated == 0
    assert inserted == len(texts(update.after, "units")) - len(kept)
    assert deleted == len(texts(update.before, "units")) - len(kept)


def test_a_deleted_page_goes_everywhere_and_an_added_one_comes(update: Update) -> None:
    for name in RELEASED_TABLES:
        for page_id, tables, place in ((DELETED, update.before, 2), (ADDED, update.after, 0)):
            n_rows = sum(row["doc_id"] == f"enwiki:{page_id}" for row in tables[name].values())
            assert n_rows > 0
            found = update.changes[name].of(page_id)
            assert (found[place], sum(found)) == (n_rows, n_rows), (name, page_id)


def test_unchanged_text_keeps_its_vector_and_only_new_text_is_encoded(update: Update) -> None:
    vectors = {row["rendered_sha256"]: row["vector"] for row in update.before["embeddings"].values()}
    known = [row for row in update.after["embeddings"].values() if row["rendered_sha256"] in vectors]
    assert len(known) > len(update.after["embeddings"]) / 3
    for row in known:
        assert row["vector"] == vectors[row["rendered_sha256"]], row["unit_id"]
    new = {row["rendered_sha256"] for row in update.after["embeddings"].values()} - set(vectors)
    assert update.summary.tables["embeddings"]["processed"] == len(new)
