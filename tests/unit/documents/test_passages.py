"""Where passages begin and end, on trees that are small enough to check by eye."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pipelines.documents.passages import Passage, make_passages
from pipelines.documents.tree import Node, Sentence, TreeBuilder
from pipelines.documents.words import count_words


def sentences_of(nodes: Sequence[Node], split: str = ".") -> list[Sentence]:
    """Sentences that end at every full stop; headings have none."""
    found: list[Sentence] = []
    for node in nodes:
        if node.is_structure:
            continue
        begin = 0
        for part in node.text.split(split):
            text = (part + split if part + split in node.text[begin:] else part).strip()
            if text:
                begin = node.text.index(text, begin)
                found.append(Sentence(len(found), node.node_id, begin, begin + len(text), text))
                begin += len(text)
    return found


def passages_of(builder: TreeBuilder, max_words: int) -> list[Passage]:
    nodes = builder.finish()
    return make_passages(nodes, sentences_of(nodes), max_words)


def test_a_passage_closes_before_it_exceeds_the_limit() -> None:
    tree = TreeBuilder("T")
    tree.add("p", text="One two three. Four five. Six seven eight.")
    assert [p.text for p in passages_of(tree, 5)] == ["One two three. Four five.", "Six seven eight."]


def test_a_passage_of_exactly_the_limit_stays_whole() -> None:
    tree = TreeBuilder("T")
    tree.add("p", text="One two three. Four five.")
    assert len(passages_of(tree, 5)) == 1
    again = TreeBuilder("T")
    again.add("p", text="One two three. Four five.")
    assert len(passages_of(again, 4)) == 2


def test_it_runs_across_blocks_and_sections_without_their_headings() -> None:
    tree = TreeBuilder("T")
    first = tree.add("p", text="One two.")
    tree.open("section", text="Heading words here", level=2)
    second = tree.add("p", text="Three four.")
    (passage,) = passages_of(tree, 100)
    assert passage == Passage((first, second), 0, 1, "One two.\nThree four.")


def test_a_longer_sentence_is_a_passage_alone() -> None:
    tree = TreeBuilder("T")
    tree.add("p", text="A b. One two three four five six. C d.")
    assert [p.text for p in passages_of(tree, 4)] == ["A b.", "One two three four five six.", "C d."]


def test_sentences_of_a_block_are_joined_by_a_space_and_blocks_by_a_newline() -> None:
    tree = TreeBuilder("T")
    tree.add("p", text="A.   B.")
    tree.add("p", text="C.")
    assert [p.text for p in passages_of(tree, 100)] == ["A. B.\nC."]


def table(tree: TreeBuilder, rows: Sequence[Sequence[str]]) -> int:
    table_id = tree.open("table")
    for row in rows:
        tree.open("tr")
        for cell in row:
            tree.add("td", text=cell)
        tree.close()
    tree.close()
    return table_id


def test_a_table_row_counts_as_one_sentence_with_its_cells_joined() -> None:
    tree = TreeBuilder("T")
    tree.add("p", text="Before it.")
    table(tree, [["One. Two.", "", "Three"], ["Four", "Five six"]])
    tree.add("p", text="Behind it.")
    assert [p.text for p in passages_of(tree, 3)] == ["Before it.", "One. Two. | Three", "Four | Five six",
                                                      "Behind it."]


def test_a_row_longer_than_the_limit_is_not_divided() -> None:
    tree = TreeBuilder("T")
    table(tree, [["one two three", "four five six"]])
    (passage,) = passages_of(tree, 2)
    assert (passage.first_sentence_id, passage.last_sentence_id) == (0, 1)
    assert passage.text == "one two three | four five six"


def test_rows_of_a_table_inside_a_cell_are_rows_of_their_own() -> None:
    tree = TreeBuilder("T")
    tree.open("table")
    tree.open("tr")
    tree.open("td", text="outer")
    table(tree, [["in a", "in b"], ["in c", "in d"]])
    tree.close()
    tree.add("td", text="last")
    found = passages_of(tree, 1)
    assert [p.text for p in found] == ["outer", "in a | in b", "in c | in d", "last"]


def test_list_items_inside_a_cell_belong_to_the_cell() -> None:
    tree = TreeBuilder("T")
    tree.open("table")
    tree.open("tr")
    tree.add("th", text="Works")
    tree.open("td")
    tree.open("ul")
    tree.add("li", text="first")
    tree.add("li", text="second")
    assert [p.text for p in passages_of(tree, 100)] == ["Works | first second"]


def test_ideographs_are_counted_by_the_one_word_rule() -> None:
    tree = TreeBuilder("T")
    tree.add("p", text="漢字漢字。")
    tree.add("p", text="漢字漢字。")
    limit = count_words("漢字漢字。")
    assert len(passages_of(tree, limit)) == 2


@pytest.mark.parametrize("max_words", [1, 3, 7, 50])
def test_every_sentence_is_in_exactly_one_passage_in_order(max_words: int) -> None:
    tree = TreeBuilder("T")
    for number in range(9):
        tree.open("section", text=f"Section {number}", level=2)
        tree.add("p", text=" ".join(f"Word{i} and more." for i in range(number)))
        table(tree, [["a b", "c"], ["d", ""]])
        tree.close()
    nodes = tree.finish()
    sentences = sentences_of(nodes)
    passages = make_passages(nodes, sentences, max_words)
    covered = [i for p in passages for i in range(p.first_sentence_id, p.last_sentence_id + 1)]
    assert covered == list(range(len(sentences)))
    for passage in passages:
        held = {s.node_id for s in sentences[passage.first_sentence_id: passage.last_sentence_id + 1]}
        assert passage.node_ids == tuple(sorted(held))


def test_a_document_without_sentences_has_no_passages() -> None:
    tree = TreeBuilder("T")
    tree.open("section", text="Only a heading", level=2)
    assert passages_of(tree, 100) == []
