"""HotpotQA: questions over two pages, with the sentences that answer them.

What belongs here: the files of its authors, distractor and full wiki. What does not: its KILT form (`kilt.py`).
Source: Yang et al., "HotpotQA" (arXiv 1809.09600), and the section "JSON Format" of README.md in the repository
hotpotqa/hotpot, which says of every field:

- the file: an array of items; `_id`, `question`, `answer`: id, question, its one answer. The published test file
  has no answers: its items are rejects, for a row without an answer would say that there is none
- `supporting_facts[]`: `[title, sentence number from 0]`, the gold sentences
- `context[]`: `[title, sentences]`; the sentence with a fact's title and number is the quote
- `type`: comparison or bridge; `level`: not read

In the full-wiki dev file the paragraphs are retrieved ones, so that a fact's page may not be among them, and some
facts of the training file have a number that their paragraph does not reach (kilt/datasets/hotpotqa.py of
facebookresearch/KILT skips these too): both are left out and counted.
"""

from __future__ import annotations

from typing import Any

from pipelines.evaluation.datasets import Question
from pipelines.questions.published.fields import (
    BadField,
    Evidence,
    Fields,
    Tally,
    checked_list,
    checked_text,
    show,
)
from pipelines.questions.published.records import Format, Record, array_records

ITEM = frozenset({"_id", "question", "answer", "supporting_facts", "context", "type", "level"})
_FACT, _PARAGRAPH = "[title, sentence number]", "[title, [sentence, …]]"


def hotpotqa_question(record: Record, tally: Tally) -> Question:
    """The question of an item."""
    item = Fields(record.value, ITEM, tally)
    question_id, question = item.text("_id"), item.text("question")
    answer = item.text("answer", "an answer, which the published test file does not have")
    paragraphs: dict[str, list[list[Any]]] = {}
    for number, value in enumerate(item.array("context", f"a list of {_PARAGRAPH}")):
        place = f"context[{number}]"
        title, sentences = _pair(value, place, _PARAGRAPH)
        paragraphs.setdefault(checked_text(title, f"{place}[0]"), []).append(
            checked_list(sentences, f"{place}[1]", "a list of sentences"))
    evidence = Evidence(tally)
    for number, value in enumerate(item.array("supporting_facts", f"a list of {_FACT}")):
        place = f"supporting_facts[{number}]"
        title, sentence = _pair(value, place, _FACT)
        if not isinstance(sentence, int) or isinstance(sentence, bool) or sentence < 0:
            raise BadField(f"{place}[1]", show(sentence), "a number of a sentence, from 0")
        _add(evidence, checked_text(title, f"{place}[0]"), sentence, paragraphs)
    return Question(question_id, question, ((answer,),), evidence.gold(), type=item.text_or_none("type"),
                    split=record.split)


def _add(evidence: Evidence, title: str, sentence: int, paragraphs: dict[str, list[list[Any]]]) -> None:
    if title not in paragraphs:
        evidence.leave_out("not_in_context")
        return
    found = next((sentences for sentences in paragraphs[title] if sentence < len(sentences)), None)
    if found is None:
        evidence.leave_out("no_such_sentence")
    elif not isinstance(found[sentence], str):
        raise BadField(f"context, sentence {sentence} of {title!r}", show(found[sentence]), "a string")
    else:
        evidence.add(title, found[sentence])


def _pair(value: Any, place: str, expected: str) -> tuple[Any, Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise BadField(place, show(value), expected)
    return value[0], value[1]


FORMATS = {
    "hotpotqa": Format("hotpot_{train,dev_distractor,dev_fullwiki}_*.json of its authors", "a JSON array of items",
                       array_records, hotpotqa_question),
}
