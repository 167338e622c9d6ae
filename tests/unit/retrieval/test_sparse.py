"""The sparse index over a few units: spellings, single characters, names that redirect."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.retrieval.index_files import building
from pipelines.retrieval.sparse import SparseIndex, build_sparse
from pipelines.settings import DataFolder

TEXTS = {"cafe": "A cafe sells coffee and cake", "café": "A café sells coffee and cake",
         "müller": "Café Müller is a piece by Pina Bausch", "fuji": "富士山は日本の山である", "volcano": "火山",
         "hanoi": "Hà Nội là thủ đô", "elephants": "Elephantidae are a family of large mammals",
         "thai": "ภาษาไทย", "kana": "がくせい", "hindi": "हिन्दी भाषा"}
NAMES = {"elephants": ["Elefante", "Éléphant"]}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SparseIndex:
    data = DataFolder.at(tmp_path_factory.mktemp("sparse") / "data")
    with building(data, "indexes/1/sparse") as folder:
        build_sparse(folder, [{"unit_id": f"xx:{name}#passage/0/0", "doc_id": f"xx:{name}", "source": "wikipedia",
                               "text": text, "names": NAMES.get(name, [])} for name, text in TEXTS.items()], "test")
    return SparseIndex(Path(data.root) / "indexes/1/sparse")


def found(index: SparseIndex, question: str) -> list[str]:
    return [match.doc_id.partition(":")[2] for match in index.search(question, 10)]


@pytest.mark.parametrize(("question", "first", "all_of_them"), [
    ("cafe", "cafe", {"cafe", "café", "müller"}),
    ("café", "café", {"cafe", "café", "müller"}),
    ("cafe Muller", "müller", {"cafe", "café", "müller"}),
    ("Café Müller", "müller", {"cafe", "café", "müller"}),
    ("Ha Noi", "hanoi", {"hanoi"}),
    ("HÀ NỘI", "hanoi", {"hanoi"}),
])
def test_words_are_found_without_their_accents_and_better_with_them(index: SparseIndex, question: str, first: str,
                                                                    all_of_them: set[str]) -> None:
    result = found(index, question)
    assert result[0] == first
    assert set(result) == all_of_them


@pytest.mark.parametrize(("question", "expected"), [
    ("山", {"fuji", "volcano"}), ("火", {"volcano"}), ("ไ", {"thai"}), ("犬", set()),
    ("か", set()), ("हिनदी", set()),
])
def test_a_single_character_finds_the_words_that_hold_it(index: SparseIndex, question: str,
                                                         expected: set[str]) -> None:
    assert set(found(index, question)) == expected


@pytest.mark.parametrize("question", ["Elefante", "ELÉPHANT", "What does an elephant eat? elephant"])
def test_the_title_of_a_redirect_finds_the_page(index: SparseIndex, question: str) -> None:
    assert "elephants" in found(index, question)


@pytest.mark.parametrize("question", ["🐘", "?!…", "~", "~cafe ~", ".|.", "Ｃａｆｅ " * 2000])
def test_hostile_questions_are_only_words(index: SparseIndex, question: str) -> None:
    assert bool(found(index, question)) == ("afe" in question or "ａ" in question)


def test_words_that_no_unit_has(index: SparseIndex) -> None:
    assert [index.knows(word) for word in ("cafe", "muller", "山", "elefante", "zebra", "犬")] == [
        True, True, True, True, False, False]
