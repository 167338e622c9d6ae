"""Real articles as a plain-text extractor cuts them, 100 words a passage, back in their trees.

The plain text is made by another route than the trees: mwparserfromhell's `strip_code`, which keeps headings,
drops templates and quotations, and glues or orders some cells otherwise.
"""

from __future__ import annotations

from collections import Counter

import mwparserfromhell
import pytest

from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.tree import Document
from pipelines.evaluation.normalise import normalise_quote
from pipelines.retrieval.align import Aligner, Alignment

N_ARTICLES = 14
MOST_CHARACTERS = 60_000
WORDS = 100


def plain_words(wikitext: str) -> list[str]:
    """The words of an article without its notes, files and categories."""
    code = mwparserfromhell.parse(wikitext)
    dropped = code.filter_tags(matches=lambda tag: str(tag.tag).strip().lower() == "ref")
    dropped += code.filter_wikilinks(
        matches=lambda link: str(link.title).strip().lower().startswith(("file:", "image:", "category:")))
    for node in dropped:
        if code.contains(node):
            code.remove(node)
    return str(code.strip_code()).split()


@pytest.fixture(scope="module")
def aligned() -> list[tuple[Document, str, Alignment]]:
    """Every passage of the articles; the last one of each is filled up from its beginning."""
    path = sample_dump_path()
    site = read_site_info(path)
    pages = (page for page in iter_pages(path) if page.namespace == 0 and page.redirect_to is None
             and page.text and len(page.text) < MOST_CHARACTERS)
    found = []
    for _, page in zip(range(N_ARTICLES), pages, strict=False):
        document = Document(f"enwiki:{page.page_id}", read_wikitext(page.title, page.text or "", site).nodes)
        words = plain_words(page.text or "")
        aligner = Aligner(document)
        for begin in range(0, len(words), WORDS):
            passage = " ".join((words + words)[begin: begin + WORDS])
            found.append((document, passage, aligner.align(passage)))
    return found


def test_nearly_all_passages_are_aligned(aligned: list[tuple[Document, str, Alignment]]) -> None:
    n_aligned = sum(bool(alignment.pieces) for _, _, alignment in aligned)
    assert len(aligned) > 200
    assert n_aligned / len(aligned) > 0.97


def test_lit_nodes_hold_the_passages_words_and_nothing_else(aligned: list[tuple[Document, str, Alignment]]) -> None:
    """Compared as bags of 5-grams of letters: an aligner that is off by a node loses far more than 3 %."""
    n_shared = n_passage = n_lit = 0
    for document, passage, alignment in aligned:
        if alignment.pieces:
            lit = "".join(normalise_quote(document[node_id].text[begin:end])
                          for node_id, begin, end in alignment.pieces)
            wanted, shown = (Counter(text[place: place + 5] for place in range(len(text) - 4))
                             for text in (normalise_quote(passage), lit))
            n_shared += (wanted & shown).total()
            n_passage += wanted.total()
            n_lit += shown.total()
    assert n_shared / n_lit > 0.97
    assert n_shared / n_passage > 0.95


def test_nodes_that_a_passage_holds_whole_are_lit(aligned: list[tuple[Document, str, Alignment]]) -> None:
    """Paragraphs and items of sixty letters and more whose very words are in the passage."""
    held = missed = 0
    for document, passage, alignment in aligned:
        letters = normalise_quote(passage)
        for node in document:
            if alignment.pieces and not node.is_structure and len(node.text) > 60 \
                    and normalise_quote(node.text) in letters:
                held += 1
                missed += node.node_id not in alignment.node_ids
    assert held > 100
    assert missed / held < 0.02


def test_headings_are_never_lit(aligned: list[tuple[Document, str, Alignment]]) -> None:
    n_inside = 0
    for document, _, alignment in aligned:
        assert not any(document[node_id].is_structure for node_id in alignment.node_ids)
        n_inside += sum(node.is_structure for node in document for begin, end in alignment.ranges
                        if begin <= node.begin and node.end <= end)
    assert n_inside > 50, "headings lie inside the ranges"
