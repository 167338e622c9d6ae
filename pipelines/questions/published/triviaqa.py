"""TriviaQA: trivia questions with every name of their answer.

What belongs here: the files of its authors, reading comprehension (wikipedia-*, web-*, verified-*) and unfiltered.
What does not: its KILT form (`kilt.py`). Sources: Joshi et al., "TriviaQA" (arXiv 1705.03551), and
samples/triviaqa_sample.json, utils/dataset_utils.py, evaluation/triviaqa_evaluation.py of the repository
mandarjoshi90/triviaqa, which have or read the fields so:

- the file: `{"Data": [item], "Domain", "VerifiedEval", "Version"}`; `QuestionId`, `Question`: id and question
- `Answer`: one required answer; its aliases are `Value`, `Aliases`, `HumanAnswers`, and of `NormalizedAliases`
  those that differ from them by more than case, punctuation and articles. `Type` and the rest of it are not read.
  The published test files have none: their items are rejects, for a row without an answer would say that there is
  none
- `QuestionPartOfVerifiedEval`: in a file with `VerifiedEval`, an item without it is none of the set's questions
  (`read_triviaqa_data`). `VerifiedEval` stands at the file's end: the name, verified-*, has to tell it before
- `EntityPages`, `SearchResults`: pages that may hold the answer, without the words; each is counted as evidence
  left out. `QuestionSource`, `QuestionVerifiedEvalAttempt`: not read
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from pipelines.evaluation.datasets import Question
from pipelines.evaluation.normalise import normalise_answer
from pipelines.questions.published.fields import Fields, Tally, answer
from pipelines.questions.published.files import text_reader
from pipelines.questions.published.json_stream import JsonStream
from pipelines.questions.published.records import Format, LayoutError, Record, Source

ITEM = frozenset({"Answer", "EntityPages", "Question", "QuestionId", "QuestionPartOfVerifiedEval", "QuestionSource",
                  "QuestionVerifiedEvalAttempt", "SearchResults"})
ANSWER = frozenset({"Aliases", "HumanAnswers", "MatchedWikiEntityName", "Multiplier", "NormalizedAliases",
                    "NormalizedMatchedWikiEntityName", "NormalizedValue", "Number", "Type", "Unit", "Value"})
FILE = frozenset({"Data", "Domain", "VerifiedEval", "Version"})
PAGES = ("EntityPages", "SearchResults")
VERIFIED = "verified-"


def triviaqa_records(source: Source, tally: Tally) -> Iterator[Record]:
    """The items of a file; of one named verified-* those that are part of the verified evaluation."""
    stream = JsonStream(text_reader(source.stream))
    if stream.peek() != "{":
        raise LayoutError(f"it begins with {stream.peek() or 'nothing'!r}", "a JSON object with Data")
    only_verified = PurePosixPath(source.name).name.startswith(VERIFIED)
    number = n_unverified = 0
    has_data = False
    for name in stream.members():
        if name != "Data":
            value = stream.value()
            if name == "VerifiedEval" and value is True and n_unverified and not only_verified:
                raise LayoutError(f"VerifiedEval is true, and {n_unverified:,} items are not verified",
                                  f"a name that begins with {VERIFIED}, by which these are left out")
            if name not in FILE:
                tally.unknown_fields[f"{name}, beside Data"] += 1
            continue
        has_data = True
        for value in stream.items():
            number += 1
            if isinstance(value, dict) and value.get("QuestionPartOfVerifiedEval") is not True:
                n_unverified += 1
                if only_verified:
                    tally.skipped["not part of the verified evaluation"] += 1
                    continue
            yield Record(number, value, source.split)
    if not has_data:
        raise LayoutError("no Data in it", "a JSON object with Data")
    stream.end()


def triviaqa_question(record: Record, tally: Tally) -> Question:
    """The question of an item."""
    item = Fields(record.value, ITEM, tally)
    question_id, question = item.text("QuestionId"), item.text("Question")
    found = item.nested("Answer", ANSWER, "an answer, which the published test files do not have")
    aliases = [found.text("Value"), *found.texts("Aliases")]
    if found.has("HumanAnswers"):
        aliases += found.texts("HumanAnswers")
    known = {normalise_answer(alias) for alias in aliases}
    aliases += [alias for alias in found.texts("NormalizedAliases") if normalise_answer(alias) not in known]
    if n_pages := sum(len(item.array(name)) for name in PAGES if item.has(name)):
        tally.left_out["no_quote"] += n_pages
    return Question(question_id, question, (answer(aliases, "Answer"),), (), split=record.split)


FORMATS = {
    "triviaqa": Format("{wikipedia,web,unfiltered-web,verified-*}-{train,dev}.json of its authors",
                       "one JSON object with Data, an array of items", triviaqa_records, triviaqa_question),
}
