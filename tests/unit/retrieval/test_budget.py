"""The budget rule, step by step, and that every count is that of the final text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.documents.render import whole
from pipelines.documents.tree import Document
from pipelines.methods.base import Piece
from pipelines.retrieval.budget import pack

AMPLE = 10_000


def piece_of(document: Document, *texts: str, score: float = 0.5, layout: Any = "passage",
             context: tuple[str, ...] = ()) -> Piece:
    """A piece of the blocks with these texts."""
    def ids(wanted: tuple[str, ...]) -> list[int]:
        return [next(node.node_id for node in document if node.text.startswith(text)) for text in wanted]

    return Piece(document.doc_id, whole(document, ids(texts)), score, whole(document, ids(context)), layout)


def test_passages_stand_alone_in_the_methods_order(bird_corpus: Any, owl: Document, heron: Document) -> None:
    pieces = [piece_of(owl, "Pellets"), piece_of(heron, "Herons are"), piece_of(owl, "Owls are")]
    context = pack(pieces, bird_corpus, AMPLE)
    assert context.text == (
        "# Owl\nPellets hold what they cannot digest. Bones and fur are found in them.\n\n"
        "# Heron\nHerons are long-legged wading birds of marshes and river banks.\n\n"
        "# Owl\nOwls are birds of prey. They hunt at night.")
    assert [item.doc_id for item in context.evidence] == ["xx:1", "xx:2"], "by the first piece"
    assert context.evidence[0].text == (
        "Owls are birds of prey. They hunt at night.\n"
        "Pellets hold what they cannot digest. Bones and fur are found in them.")


def test_subdocuments_are_rendered_in_document_order_with_headings_once(
        bird_corpus: Any, owl: Document, heron: Document) -> None:
    pieces = [piece_of(owl, "Pellets", layout="subdocument", score=0.9),
              piece_of(owl, "voles", layout="subdocument", score=0.7, context=("Most owls", "small mammals")),
              piece_of(heron, "Grey herons", layout="subdocument", score=0.8)]
    context = pack(pieces, bird_corpus, AMPLE)
    assert context.text == (
        "# Owl\n## Diet\nMost owls eat these animals:\n- small mammals\n  1. voles\n"
        "Pellets hold what they cannot digest. Bones and fur are found in them.\n\n"
        "# Heron\n## Nesting\n### Colonies\nGrey herons nest in colonies called heronries. The largest "
        "heronry of the county has two hundred nests. It lies beside the old reservoir.")
    first = context.evidence[0]
    assert first.text.startswith("Most owls eat these animals:\nsmall mammals\nvoles\nPellets")
    assert [citation.quote.split()[0] for citation in first.citations] == ["voles", "Pellets"]
    assert first.paths == [[1, 1, 0, 0, 0], [1, 2]]
    assert first.score == 0.9


def test_what_does_not_fit_is_skipped_and_the_third_skip_ends(bird_corpus: Any, owl: Document) -> None:
    small = piece_of(owl, "Athena")
    large = [piece_of(owl, text) for text in ("Owls are", "Pellets", "Owls live", "The goddess")]
    budget = bird_corpus.count_tokens("# Owl\nAthena\n\n# Owl\n  1. voles")
    context = pack([small, large[0], large[1], piece_of(owl, "voles"), large[2], piece_of(owl, "fish")],
                   bird_corpus, budget)
    assert context.text == "# Owl\nAthena\n\n# Owl\n  1. voles"
    assert (context.n_taken, context.n_skipped) == (2, 3)
    after_three = pack([small, *large, piece_of(owl, "voles")], bird_corpus, budget)
    assert (after_three.text, after_three.n_skipped) == ("# Owl\nAthena", 3)


def test_only_a_first_piece_is_cut_at_its_last_fitting_sentence(bird_corpus: Any, heron: Document) -> None:
    first = "Grey herons nest in colonies called heronries."
    second = "The largest heronry of the county has two hundred nests."
    piece = piece_of(heron, "Grey herons")
    budget = bird_corpus.count_tokens(f"# Heron\n{first} {second}")
    context = pack([piece], bird_corpus, budget)
    assert (context.text, context.n_tokens, context.is_cut) == (f"# Heron\n{first} {second}", budget, True)
    assert context.evidence[0].citations[0].uri == f"xx:2@5.3#/1/0/0:0-{len(first) + 1 + len(second)}"
    assert pack([piece], bird_corpus, budget - 1).text == f"# Heron\n{first}"
    nothing = pack([piece], bird_corpus, 5)
    assert (nothing.text, nothing.n_tokens, nothing.evidence, nothing.n_skipped) == ("", 0, (), 1)


def test_cutting_gives_up_what_stands_around_before_it_gives_up(bird_corpus: Any, owl: Document) -> None:
    piece = piece_of(owl, "voles", layout="subdocument", context=("Most owls", "small mammals"))
    context = pack([piece], bird_corpus, bird_corpus.count_tokens("# Owl\n## Diet\n  1. voles"))
    assert context.text == "# Owl\n## Diet\n  1. voles"


def test_a_piece_that_adds_no_words_is_no_piece(bird_corpus: Any, owl: Document) -> None:
    context = pack([piece_of(owl, "voles"), piece_of(owl, "voles")], bird_corpus, AMPLE)
    assert (context.n_taken, context.n_skipped, context.text) == (1, 0, "# Owl\n  1. voles")


def test_no_pieces_give_an_empty_context(bird_corpus: Any) -> None:
    context = pack([], bird_corpus, AMPLE)
    assert (context.text, context.n_tokens, context.evidence) == ("", 0, ())
    with pytest.raises(ValueError, match="budget"):
        pack([], bird_corpus, 0)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_count_is_exact_and_within_the_budget(bird_corpus: Any, owl: Document, heron: Document,
                                                  data: st.DataObject) -> None:
    layout = data.draw(st.sampled_from(["passage", "subdocument"]))
    pieces = []
    for document in data.draw(st.lists(st.sampled_from([owl, heron]), max_size=8)):
        node_id = data.draw(st.sampled_from([n.node_id for n in document if n.text and not n.is_structure]))
        pieces.append(Piece(document.doc_id, whole(document, [node_id]), 0.1, (), layout))
    budget = data.draw(st.integers(1, 120))
    context = pack(pieces, bird_corpus, budget)
    assert context.n_tokens == (bird_corpus.count_tokens(context.text) if context.text else 0) <= budget
    assert {item.doc_id for item in context.evidence} == {piece.doc_id for piece in context.pieces}
