"""ELI5 as ALCE publishes it: questions of a forum, with the claims that an answer should make.

What belongs here: ALCE's files. What does not: ELI5's KILT form (`kilt.py`); the set's own authors publish
programs that gather it, but no file. Sources: Gao et al., "Enabling Large Language Models to Generate Text with
Citations" (arXiv 2305.14627), and `compute_claims` in eval.py and `retrieval.py` of the repository
princeton-nlp/ALCE, which read the fields so:

- `question`: the question. Items have no id: theirs is 16 hex of the question's SHA-256, the same in every file
- `claims[]`: three sentences that a language model drew from the answer; each is a required answer
- `answer`: the forum's answer; the one required answer of an item without claims
- `question_ctx`, retrieved `docs`: not read; there is no gold evidence

Such answers are sentences: nothing has them word for word. `type` is `long_form`, and what counts answers by their
words says nothing about it.
"""

from __future__ import annotations

import hashlib

from pipelines.evaluation.datasets import Question
from pipelines.questions.published.fields import Fields, Tally, answer
from pipelines.questions.published.records import Format, Record, array_records

ITEM = frozenset({"question", "question_ctx", "answer", "claims", "docs"})
LONG_FORM = "long_form"
"""Type of questions whose answers are sentences, to be judged by what they say and not by their words."""


def eli5_question(record: Record, tally: Tally) -> Question:
    """The question of an item of ALCE's ELI5 files."""
    item = Fields(record.value, ITEM, tally)
    question = item.text("question")
    claims = item.texts("claims") if item.has("claims") else []
    answers = tuple(answer([claim], "claims") for claim in dict.fromkeys(claims))
    question_id = hashlib.sha256(question.encode()).hexdigest()[:16]
    return Question(question_id, question, answers or ((item.text("answer"),),), (), type=LONG_FORM,
                    split=record.split)


FORMATS = {
    "alce-eli5": Format("ALCE's eli5_eval_*.json, 1,000 of ELI5's dev questions", "a JSON array of items",
                        array_records, eli5_question),
}
