"""Passages of other files in hand-made trees, against answers worked out by hand or by brute force."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.documents.tree import Document, TreeBuilder
from pipelines.retrieval import align_text
from pipelines.retrieval.align import Aligner, Alignment

LEAD = "Owls are birds of prey that hunt at night."
DIET = "Most owls eat mice, voles and shrews; the fishing owls of Asia take fish and frogs."
PELLETS = "“Pellets” hold what they cannot digest (bones, fur)."
WHERE = "They live on all continents but one, from deserts to the snowfields of the Arctic."
ROWS = [("Species", "Wingspan"), ("Barn owl", "95 cm"), ("Snowy owl", "150 cm"), ("Elf owl", "27 cm")]


def paragraphs(*texts: str, title: str = "Owl") -> Document:
    builder = TreeBuilder(title)
    for text in texts:
        builder.add("p", text=text)
    return Document("xx:1", builder.finish())


@pytest.fixture(scope="module")
def owl_page() -> Document:
    """0 title; 1 lead; 2 Diet: 3 p, 4 ul: 5 6 li, 7 p; 8 table: rows of two cells; then Range: p."""
    builder = TreeBuilder("Owl")
    builder.add("p", text=LEAD)
    builder.open("section", text="What they eat", level=2)
    builder.add("p", text=DIET)
    builder.open("ul")
    builder.add("li", text="The eagle owl takes hares and even young deer.")
    builder.add("li", text="The elf owl takes moths, beetles and scorpions.")
    builder.close()
    builder.add("p", text=PELLETS)
    builder.open("table")
    for row in ROWS:
        builder.open("tr")
        for text in row:
            builder.add("td", text=text)
        builder.close()
    builder.close()
    builder.close_to(0)
    builder.open("section", text="Where they live", level=2)
    builder.add("p", text=WHERE)
    return Document("xx:1", builder.finish())


def found_text(document: Document, alignment: Alignment) -> list[str]:
    return [document.visible_text()[begin:end] for begin, end in alignment.ranges]


def lit_texts(document: Document, alignment: Alignment) -> list[str]:
    return [document[node_id].text[begin:end] for node_id, begin, end in alignment.pieces]


@pytest.mark.parametrize("passage", [LEAD, DIET, PELLETS, "birds of prey that", "(bones, fur)", "“Pellets”",
                                     "frogs.", "wls eat mi"])
def test_exact_words_give_their_exact_range(owl_page: Document, passage: str) -> None:
    alignment = Aligner(owl_page).align(passage)
    assert (alignment.score, alignment.n_places) == (1.0, 1)
    begin = owl_page.visible_text().index(passage)
    assert alignment.ranges == ((begin, begin + len(passage)),)
    assert lit_texts(owl_page, alignment) == [passage]


def test_letters_are_compared_by_their_meaning_and_offsets_are_those_of_the_document() -> None:
    document = paragraphs("Der ﬁnale Größenvergleich: Ça va, ② mal!", "Caffe\u0301 und Tee.")
    alignment = Aligner(document).align("FINALE  GRÖSSENVERGLEICH - c\u0327a va 2 mal  Caffé und")
    assert alignment.score == 1.0
    assert found_text(document, alignment) == ["ﬁnale Größenvergleich: Ça va, ② mal!\nCaffe\u0301 und"]
    assert lit_texts(document, alignment) == ["ﬁnale Größenvergleich: Ça va, ② mal!", "Caffe\u0301 und"]


def test_marks_at_the_ends_are_taken_as_far_as_the_passage_has_them() -> None:
    document = paragraphs("Er rief „Olé\u0301!“ (leise).", "हिन्दी की किताब।")
    aligner = Aligner(document)
    assert found_text(document, aligner.align("„ Ole\u0301\u0301 !“")) == ["„Olé\u0301!“"]
    assert found_text(document, aligner.align("leise")) == ["leise"]
    assert found_text(document, aligner.align("(leise")) == ["(leise"]
    assert found_text(document, aligner.align("की किताब।")) == ["की किताब।"]


def test_a_passage_across_blocks_lights_no_heading(owl_page: Document) -> None:
    visible = owl_page.visible_text()
    with_heading = "at night. What they eat Most owls eat mice"
    without = "at night. Most owls eat mice"
    for passage in (with_heading, without):
        alignment = Aligner(owl_page).align(passage)
        assert alignment.score == 1.0
        assert alignment.pieces == ((1, LEAD.index("at night"), len(LEAD)), (3, 0, len("Most owls eat mice")))
        assert alignment.ranges == ((visible.index("at night"), visible.index(", voles")),)


def test_a_heading_alone_lights_nothing(owl_page: Document) -> None:
    alignment = Aligner(owl_page).align("Where they live")
    assert alignment.score == 1.0
    assert found_text(owl_page, alignment) == ["Where they live"]
    assert alignment.node_ids == ()


def test_what_a_file_left_out_is_not_lit(owl_page: Document) -> None:
    """Plain-text extractors drop lists, tables and headings: the words before and behind stand together."""
    prose = f"{DIET} {PELLETS} {WHERE}"
    alignment = Aligner(owl_page).align(prose)
    assert alignment.score == 1.0
    assert lit_texts(owl_page, alignment) == [DIET, PELLETS, WHERE]
    assert alignment.ranges == ((owl_page[3].begin, len(owl_page.visible_text())),)


def test_a_table_lights_its_cells(owl_page: Document) -> None:
    alignment = Aligner(owl_page).align("Barn owl | 95 cm | Snowy owl | 150 cm")
    assert alignment.score == 1.0
    assert lit_texts(owl_page, alignment) == ["Barn owl", "95 cm", "Snowy owl", "150 cm"]


def test_a_tables_words_in_another_order_are_below_the_threshold(owl_page: Document) -> None:
    by_column = " ".join(text for column in zip(*ROWS[::-1], strict=True) for text in column)
    alignment = Aligner(owl_page).align(by_column)
    assert 0 < alignment.score < 0.75
    assert (alignment.ranges, alignment.pieces) == ((), ())
    swapped = f"{WHERE} Elf owl 27 cm Snowy owl 150 cm"
    assert Aligner(owl_page).align(swapped, min_score=0.5).node_ids[-1] == owl_page.nodes[-1].node_id


@pytest.mark.parametrize(("passage", "score"), [("", 0.0), (" \n ", 0.0), ("“…” — (!)", 0.0), ("ǁǂ東京", 0.0)])
def test_nothing_to_compare_scores_nothing(owl_page: Document, passage: str, score: float) -> None:
    assert Aligner(owl_page).align(passage) == Alignment(score)


def test_a_document_without_letters() -> None:
    assert Aligner(paragraphs("…", title="!!!")).align("some words") == Alignment(0.0)


def test_a_passage_longer_than_the_document() -> None:
    document = paragraphs("Herons wade.", title="Heron")
    passage = "Heron. Herons wade. In this file the article goes on with many more words than the page has."
    assert Aligner(document).align(passage).ranges == ()
    # 15 of 72 letters are the page's.
    nearest = Aligner(document).align(passage, min_score=0.1)
    assert nearest.score == pytest.approx(15 / 72)
    assert lit_texts(document, nearest) == ["Herons wade."]


def test_a_file_that_fills_its_last_passage_from_the_beginning(owl_page: Document) -> None:
    passage = f"{WHERE} Owl {LEAD}"
    alignment = Aligner(owl_page).align(passage)
    assert alignment.score == 1.0
    assert found_text(owl_page, alignment) == [WHERE, f"Owl\n{LEAD}"]
    assert alignment.node_ids == (1, owl_page.nodes[-1].node_id)


def test_of_repeated_words_the_first_then_the_next() -> None:
    document = paragraphs(LEAD, DIET, LEAD, WHERE, LEAD)
    aligner = Aligner(document)
    places = [node.begin for node in document if node.text == LEAD]
    assert [aligner.align(LEAD, after=after).ranges[0][0] for after in (0, places[0] + 1, places[1], places[2])
            ] == [places[0], places[1], places[1], places[2]]
    assert aligner.align(LEAD).n_places == 3
    assert aligner.align(LEAD, after=places[2] + 1).ranges[0][0] == places[0]


def test_words_are_preferred_to_parts_of_words() -> None:
    document = paragraphs("A mistake in the midst of a list.", "I stake my claim.")
    assert found_text(document, Aligner(document).align("stake")) == ["stake"]
    assert Aligner(document).align("stake").ranges[0][0] == document.visible_text().index("stake my")


def noisy(text: str, rng: random.Random, share: float, alphabet: str) -> str:
    """A tenth of the letters changed, left out or doubled by another; spaces stay."""
    out = []
    for character in text:
        kind = rng.choice(("change", "drop", "add")) if rng.random() < share and character.isalnum() else "keep"
        out += {"keep": [character], "change": [rng.choice(alphabet)], "drop": [],
                "add": [character, rng.choice(alphabet)]}[kind]
    return "".join(out)


def long_page(rng: random.Random, n_paragraphs: int) -> Document:
    """Sections of paragraphs of made-up words."""
    words = ["".join(rng.choice("abcdefghijklmnoprstuvw") for _ in range(rng.randint(5, 9)))
             for _ in range(2000)]
    builder = TreeBuilder("Long page")
    for number in range(n_paragraphs):
        if number % 4 == 0:
            builder.close_to(0)
            builder.open("section", text=f"Section {rng.choice(words)}", level=2)
        builder.add("p", text=" ".join(rng.choice(words) for _ in range(rng.randint(30, 80))) + ".")
    return Document("xx:1", builder.finish())


@pytest.mark.parametrize("n_paragraphs", [20, 120], ids=["searched whole", "by vote"])
def test_noise_in_a_tenth_of_the_letters_keeps_exact_starts_and_ends(n_paragraphs: int) -> None:
    rng = random.Random(5)
    document = long_page(rng, n_paragraphs)
    visible = document.visible_text()
    assert (len(visible) > 1.3 * align_text.WHOLE_BELOW) == (n_paragraphs == 120)
    aligner = Aligner(document)
    words = visible.replace("\n", " ").split(" ")
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word) + 1)
    for _ in range(60):
        first = rng.randrange(len(words) - 100)
        begin, end = starts[first], starts[first + 100] - 1
        alignment = aligner.align(noisy(visible[begin:end], rng, 0.1, "abcdefghijklmnoprstuvw"))
        assert alignment.ranges == ((begin, end),)
        assert alignment.score > 0.87
        wanted = [node.node_id for node in document
                  if node.text and not node.is_structure and node.begin < end and node.end > begin]
        assert list(alignment.node_ids) == wanted


def test_another_pages_passage_is_not_aligned() -> None:
    rng = random.Random(6)
    document, other = long_page(rng, 100), long_page(rng, 8)
    alignment = Aligner(document).align(other.visible_text()[20:620])
    assert alignment.ranges == ()
    assert alignment.score < 0.6


def test_more_than_256_different_characters() -> None:
    """The rarer ones are searched as one, which must not make another text pass for the passage."""
    rng = random.Random(7)
    han = [chr(code) for code in range(0x4E00, 0x4E00 + 1500)]
    texts = ["".join(rng.sample(han, 330)) + "。" for _ in range(6)]
    document = paragraphs(*texts, title="東京")
    assert len(set(texts[3])) == 331
    aligner = Aligner(document)
    alignment = aligner.align(texts[3][5:320])
    assert alignment.score == 1.0
    assert found_text(document, alignment) == [texts[3][5:320]]
    # Sixty characters become others that the passage has, too: as many edits, all of them seen.
    changed = list(texts[3][:330])
    for place in range(100, 220, 2):
        changed[place] = changed[place - 99]
    alignment = aligner.align("".join(changed))
    assert alignment.score == pytest.approx(1 - 60 / 330)
    assert found_text(document, alignment) == [texts[3][:330]]
    assert aligner.align("".join(rng.sample(han, 330))).ranges == ()


def fewest_edits(passage: str, text: str) -> int:
    """Least edit distance of a passage to any part of a text, the plain way (Sellers' recurrence)."""
    row = [0] * (len(text) + 1)
    for number, wanted in enumerate(passage, 1):
        above, row = row, [number]
        for place, (character, (diagonal, up)) in enumerate(zip(text, pairwise(above), strict=True), 1):
            row.append(min(diagonal + (wanted != character), up + 1, row[place - 1] + 1))
    return min(row)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text("ab c", max_size=30), min_size=1, max_size=4), st.text("abcd ", min_size=1, max_size=20))
def test_score_is_that_of_the_best_window_of_any_length(texts: list[str], passage: str) -> None:
    """Brute force over every part of the letters, the end followed by the beginning as in `whole`."""
    document = paragraphs(*texts, title="a")
    letters = "".join(filter(str.isalnum, document.visible_text()))
    wanted = "".join(filter(str.isalnum, passage))
    alignment = Aligner(document).align(passage, min_score=0.4)
    if not wanted:
        assert alignment == Alignment(0.0)
        return
    followed = letters + letters[:len(wanted)] if len(wanted) < len(letters) else letters
    best = 1 - fewest_edits(wanted, followed) / len(wanted)
    assert alignment.score == pytest.approx(best)
    assert bool(alignment.ranges) == (best >= 0.4 - 1e-9)
    if best == 1.0:
        shown = "".join(filter(str.isalnum, "".join(found_text(document, alignment))))
        assert shown == wanted


def test_a_vote_finds_what_the_whole_search_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(8)
    document = long_page(rng, 40)
    visible = document.visible_text()
    passages = [noisy(visible[begin:begin + rng.randint(60, 500)], rng, 0.08, "abcdefgh")
                for begin in rng.sample(range(len(visible) - 500), 40)]
    results = []
    for limit in (1 << 30, 1):
        monkeypatch.setattr(align_text, "WHOLE_BELOW", limit)
        aligner = Aligner(document)
        results.append([aligner.align(passage) for passage in passages])
    assert results[0] == results[1]
    assert all(alignment.ranges for alignment in results[0])
