"""The KILT form of Natural Questions, HotpotQA, TriviaQA and ELI5: one format for all, tied to one Wikipedia.

What belongs here: the files *-kilt.jsonl. What does not: KILT's pages (`kilt_pages.py`), and its tasks that are no
questions. Sources: Petroni et al., "KILT" (arXiv 2009.02252); the section "KILT data format" of README.md,
`validate_datapoint` of kilt/kilt_utils.py and `get_gold_answers` of kilt/eval_downstream.py in the repository
facebookresearch/KILT; datasets/kilt_tasks/kilt_tasks.py of huggingface/datasets for what `meta` holds:

- `id`, `input`: id (a string or a whole number) and question. The files triviaqa-*_id-kilt.jsonl have no `input`
  until KILT's scripts/get_triviaqa_input.py has filled it in: their items are rejects
- `output[]`: each has an `answer`, a `provenance`, or both. All answers are aliases of one required answer, for
  KILT scores the best match with any. The published test files have none: their items are rejects
- `output[].provenance[]`: the page's `title` and `wikipedia_id`, the `section` as `Section::::A.:B.` (its headings,
  outermost first; `Section::::Abstract.` is the lead, which has none), paragraphs `start_paragraph_id` to
  `end_paragraph_id`, characters `start_character` to `end_character` of the first and the last
- `output[].provenance[].meta.evidence_span[]`: the words that an annotator marked; then they are the quotes.
  Otherwise the words are in KILT's pages alone: with them the quotes are the sentences that the characters touch
  (of a short answer the sentence around it), without them the piece is left out and counted
- `output[].meta.score`, `bleu_score`, other `meta`, `meta.partial_evidence` of the item: not read

Answers of ELI5 are whole posts: its questions have the type `long_form`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pipelines.evaluation.datasets import Question
from pipelines.questions.published.eli5 import LONG_FORM
from pipelines.questions.published.fields import Evidence, Fields, Tally, answer
from pipelines.questions.published.kilt_pages import KiltPages, Place
from pipelines.questions.published.records import Format, Record, line_records

ITEM = frozenset({"id", "input", "output", "meta"})
OUTPUT = frozenset({"answer", "provenance", "meta"})
PROVENANCE = frozenset({"wikipedia_id", "title", "section", "start_paragraph_id", "start_character",
                        "end_paragraph_id", "end_character", "bleu_score", "meta", "normalized_aliases"})
META = frozenset({"evidence_span", "annotation_id", "yes_no_answer", "fever_page_id", "fever_sentence_id"})
_SECTION, _LEAD = "Section::::", "Abstract"


def kilt_question(record: Record, tally: Tally, *, kind: str | None = None,
                  pages: KiltPages | None = None) -> Question:
    """The question of a line. kind: its type. pages: KILT's pages, for the words of its evidence."""
    item = Fields(record.value, ITEM, tally)
    question_id = item.identifier("id")
    question = item.text("input", "a question, which triviaqa-*_id-kilt.jsonl has only after KILT's own script "
                                  "get_triviaqa_input.py has filled it in")
    item.raw("output", "answers, which the published test files do not have")
    answers, evidence = [], Evidence(tally)
    for output in item.each("output", OUTPUT):
        if (found := output.text_or_none("answer")) is not None:
            answers.append(found)
        for provenance in output.each("provenance", PROVENANCE) if output.has("provenance") else ():
            _add(evidence, provenance, pages)
    return Question(question_id, question, (answer(answers, "output"),), evidence.gold(), type=kind,
                    split=record.split)


def kilt_places(record: Record) -> list[Place]:
    """The places in KILT's pages that an item's evidence without words stands in. Raises BadField."""
    item = Fields(record.value, ITEM, Tally())
    return [place for output in item.each("output", OUTPUT) if output.has("provenance")
            for provenance in output.each("provenance", PROVENANCE)
            if not _spans(provenance) and (place := _place(provenance)) is not None]


def _add(evidence: Evidence, provenance: Fields, pages: KiltPages | None) -> None:
    title = provenance.text_or_none("title")
    section = headings(provenance.text_or_none("section"))
    spans = _spans(provenance)
    if not spans and pages is not None and (place := _place(provenance)) is not None:
        spans = pages.quotes(place)
    if title is None or not spans:
        evidence.leave_out("no_quote" if title else "no_title")
    for span in spans if title else ():
        evidence.add(title, span, section)


def _spans(provenance: Fields) -> list[str]:
    if not provenance.has("meta"):
        return []
    meta = provenance.nested("meta", META)
    return meta.texts("evidence_span") if meta.has("evidence_span") else []


def _place(provenance: Fields) -> Place | None:
    """Where a provenance stands; None when it names a page alone, or a paragraph that was not found (-1)."""
    names = ("start_paragraph_id", "start_character", "end_paragraph_id", "end_character")
    if not provenance.has("wikipedia_id") or not all(provenance.has(name) for name in names):
        return None
    begin_paragraph, begin, end_paragraph, end = map(provenance.number, names)
    if not 0 <= begin_paragraph <= end_paragraph:
        return None
    return Place(provenance.identifier("wikipedia_id"), begin_paragraph, begin, end_paragraph, end)


def headings(section: str | None) -> tuple[str, ...]:
    """Headings of `Section::::A.:B.`, outermost first; none of the lead, or when there is no section."""
    name = (section or "").removeprefix(_SECTION).strip().removesuffix(".")
    parts = tuple(part.strip() for part in name.split(".:") if part.strip())
    return () if parts == (_LEAD,) else parts


def formats(pages: KiltPages | None = None) -> dict[str, Format]:
    """The KILT formats. pages: KILT's pages, for the words of the evidence."""
    names = {"nq": "Natural Questions", "hotpotqa": "HotpotQA", "triviaqa": "TriviaQA", "eli5": "ELI5"}
    return {f"kilt-{name}": Format(f"{name}-{{train,dev}}-kilt.jsonl, the KILT form of {meaning}",
                                   "a JSON object on every line", line_records, _reader(name, pages))
            for name, meaning in names.items()}


def _reader(name: str, pages: KiltPages | None) -> Callable[[Record, Tally], Question]:
    return partial(kilt_question, kind=LONG_FORM if name == "eli5" else None, pages=pages)
