"""ASQA: ambiguous questions, each with the short answers of its readings, and passages the annotators used.

What belongs here: the file ASQA.json of its authors and ALCE's files drawn from it. What does not: ALCE's other
sets. Sources: Stelmakh et al., "ASQA: Factoid Questions Meet Long-Form Answers" (arXiv 2204.06092); the section
"Format" of language/asqa/README.md in the repository google-research/language, which says of every field:

- the file: `{"train": {key: item}, "dev": {key: item}}`; the key is the AmbigQA id, here `question_id`
- `ambiguous_question`: the question (in ALCE's files `question`, and `sample_id` has the key)
- `qa_pairs[]`: one for each reading; `short_answers` are strings for the same answer, so that each pair is one
  required answer with aliases, as ALCE's `compute_str_em` (eval.py of princeton-nlp/ALCE) counts them
- `annotations[].knowledge[]`: passages that annotators added, `content` from the page `wikipage`: the evidence
- `qa_pairs[].context` with `wikipage`: passages that a program looked up for the annotators; nobody has said that
  they hold the answer, so they are no evidence here
- `wikipages`, `annotations[].long_answer`, ALCE's `answer` and retrieved `docs`: not read

A title that ends in ` ...` is cut off in the file: its evidence is left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.evaluation.datasets import SPLITS, Question
from pipelines.questions.published.fields import Evidence, Fields, Tally, answer, checked_text
from pipelines.questions.published.files import text_reader
from pipelines.questions.published.json_stream import JsonStream
from pipelines.questions.published.records import Format, LayoutError, Record, Source, array_records

ITEM = frozenset({"ambiguous_question", "qa_pairs", "wikipages", "annotations"})
ALCE_ITEM = frozenset({"sample_id", "question", "qa_pairs", "wikipages", "annotations", "answer", "docs"})
PAIR = frozenset({"question", "short_answers", "context", "wikipage"})
ANNOTATION = frozenset({"long_answer", "knowledge"})
KNOWLEDGE = frozenset({"content", "wikipage"})
_CUT_OFF = " ..."


def asqa_records(source: Source, tally: Tally) -> Iterator[Record]:
    """The items of ASQA.json, each in the split that it stands under; with a chosen split, those alone."""
    stream = JsonStream(text_reader(source.stream))
    if stream.peek() != "{":
        raise LayoutError(f"it begins with {stream.peek() or 'nothing'!r}", "a JSON object of splits")
    number = 0
    for split in stream.members():
        if split not in SPLITS:
            raise LayoutError(f"the key {split!r}", f"splits ({', '.join(SPLITS)}), each an object of items")
        if stream.peek() != "{":
            raise LayoutError(f"{split!r} begins with {stream.peek()!r}", "an object of items")
        for key in stream.members():
            number += 1
            record = Record(number, stream.value(), split, key)
            if source.chosen_split in (None, split):
                yield record
    stream.end()


def asqa_question(record: Record, tally: Tally) -> Question:
    """The question of an item of ASQA.json."""
    item = Fields(record.value, ITEM, tally)
    return _question(item, checked_text(record.key, "the key"), item.text("ambiguous_question"), record, tally)


def alce_question(record: Record, tally: Tally) -> Question:
    """The question of an item of ALCE's ASQA files."""
    item = Fields(record.value, ALCE_ITEM, tally)
    return _question(item, item.identifier("sample_id"), item.text("question"), record, tally)


def _question(item: Fields, question_id: str, question: str, record: Record, tally: Tally) -> Question:
    answers = tuple(answer(pair.texts("short_answers"), pair.place_of("short_answers"))
                    for pair in item.each("qa_pairs", PAIR))
    answer([alias for aliases in answers for alias in aliases], "qa_pairs")
    evidence = Evidence(tally)
    for annotation in item.each("annotations", ANNOTATION):
        for knowledge in annotation.each("knowledge", KNOWLEDGE):
            title = knowledge.text_or_none("wikipage")
            if title is not None and title.endswith(_CUT_OFF):
                evidence.leave_out("title_cut_off")
            else:
                evidence.add(title, knowledge.text_or_none("content"))
    return Question(question_id, question, tuple(dict.fromkeys(answers)), evidence.gold(), split=record.split)


FORMATS = {
    "asqa": Format("ASQA.json of its authors (train and dev in one file)", "one JSON object of splits",
                   asqa_records, asqa_question),
    "alce-asqa": Format("ALCE's asqa_eval_*.json, 948 of ASQA's dev questions", "a JSON array of items",
                        array_records, alce_question),
}
