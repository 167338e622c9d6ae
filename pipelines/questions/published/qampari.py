"""QAMPARI: questions with many answers, each with the sentences that prove it.

What belongs here: the files {train,dev,test}_data.jsonl of its authors and ALCE's files drawn from them. What
does not: its files with retrieved passages. Sources: Amouyal et al., "QAMPARI" (arXiv 2205.12665); README.md,
explore.md, models/retrievers/BM25/simple_index.py and models/readers/FiD_model/data_reparser_qampari.py of the
repository samsam3232/qampari, which read the fields so:

- `qid`, `question_text`: id and question. The id, as `799__wikidata_simple__dev`, names how the question was made:
  the middle part is `type`, and what ends in `__train` was made by a program, so that it is `derived`; the
  questions of dev and test were written anew and checked by people (README.md)
- `answer_list[]`: the required answers, `answer_text` with its `aliases`
- `answer_list[].proof[]`: `proof_text` from the page at `found_in_url`: the evidence, its title taken from the
  address
- `answer_list[].aid`, `.answer_url`, `.proof[].pid`, `entities`: not read

ALCE's files (README.md and `compute_qampari_f1` in eval.py of princeton-nlp/ALCE): `id` is the qid, `question`,
`answers[]` a list of aliases for each required answer; `answer` and retrieved `docs` are not read; no evidence.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

from pipelines.evaluation.datasets import Question
from pipelines.questions.published.fields import Evidence, Fields, Tally, answer, checked_texts
from pipelines.questions.published.records import Format, Record, array_records, line_records

ITEM = frozenset({"qid", "question_text", "answer_list", "entities"})
ANSWER = frozenset({"answer_text", "aliases", "aid", "answer_url", "proof"})
PROOF = frozenset({"proof_text", "found_in_url", "pid"})
ALCE_ITEM = frozenset({"id", "question", "answers", "answer", "docs"})
_QID = re.compile(r"[^_]+__(\w+)__(train|dev|test)")


def qampari_question(record: Record, tally: Tally) -> Question:
    """The question of a line of the authors' files."""
    item = Fields(record.value, ITEM, tally)
    question_id = item.text("qid")
    answers, evidence = [], Evidence(tally)
    for entry in item.each("answer_list", ANSWER):
        aliases = entry.texts("aliases") if entry.has("aliases") else []
        answers.append(answer([entry.text("answer_text"), *aliases], entry.place_of("aliases")))
        for proof in entry.each("proof", PROOF) if entry.has("proof") else ():
            url = proof.text_or_none("found_in_url")
            evidence.add(title_of_url(url) if url else None, proof.text_or_none("proof_text"))
    return _question(question_id, item.text("question_text"), answers, evidence, record)


def alce_question(record: Record, tally: Tally) -> Question:
    """The question of an item of ALCE's QAMPARI files."""
    item = Fields(record.value, ALCE_ITEM, tally)
    answers = [answer(checked_texts(aliases, f"answers[{number}]"), f"answers[{number}]")
               for number, aliases in enumerate(item.array("answers", "a list of lists of strings"))]
    return _question(item.text("id"), item.text("question"), answers, Evidence(tally), record)


def _question(question_id: str, question: str, answers: list[tuple[str, ...]], evidence: Evidence,
              record: Record) -> Question:
    answer([alias for aliases in answers for alias in aliases], "answers")
    made = _QID.fullmatch(question_id)
    derived = made[2] == "train" if made else record.split == "train"
    return Question(question_id, question, tuple(dict.fromkeys(answers)), evidence.gold(),
                    type=made[1] if made else None, split=record.split, derived=derived)


def title_of_url(url: str) -> str | None:
    """Title of the page at a wiki's address, `.../wiki/Title` or `...?title=Title`; None for another address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    _, mark, name = parts.path.partition("/wiki/")
    name = unquote(name) if mark else "".join(parse_qs(parts.query).get("title", [])[:1])
    return " ".join(name.replace("_", " ").split()) or None


FORMATS = {
    "qampari": Format("{train,dev,test}_data.jsonl of its authors, or their qampari.zip",
                      "a JSON object on every line", line_records, qampari_question),
    "alce-qampari": Format("ALCE's qampari_eval_*.json, 1,000 of QAMPARI's dev questions", "a JSON array of items",
                           array_records, alce_question),
}
