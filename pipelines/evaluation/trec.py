"""Ranking metrics over sections, and runs and qrels in TREC format.

What belongs here: Recall@k, nDCG@k and reciprocal rank by `ir-measures` (its pytrec_eval back end, thus
trec_eval's definitions), over the relevance unit of `gold.py`: sections, relevant or not. What is ranked is
what a method put into its context under the budget, in its own order; deeper ranks are not measured. What
does not belong here: finding relevant sections.

Files hold no white space inside a field: ids are percent-encoded where they have any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

RECALL_CUTS = (1, 5, 10, 20)
NDCG_CUTS = (5, 10)


def metric_names() -> tuple[str, ...]:
    """Names of the ranking metrics, as in results: `recall_at_5`, `ndcg_at_10`, `mrr`."""
    return (*(f"recall_at_{k}" for k in RECALL_CUTS), *(f"ndcg_at_{k}" for k in NDCG_CUTS), "mrr")


def ranking_metrics(rankings: Mapping[str, Sequence[str]],
                    relevant: Mapping[str, set[str]]) -> dict[str, dict[str, float]]:
    """Metrics of each question with a relevant section, by question id and metric name.

    rankings: sections best first, by question; a judged question without one counts 0 everywhere.
    """
    import ir_measures
    from ir_measures import RR, R, nDCG

    measures = {R @ k: f"recall_at_{k}" for k in RECALL_CUTS}
    measures |= {nDCG @ k: f"ndcg_at_{k}" for k in NDCG_CUTS} | {RR: "mrr"}
    judged = {question_id: sections for question_id, sections in relevant.items() if sections}
    values = {question_id: dict.fromkeys(metric_names(), 0.0) for question_id in judged}
    if not judged:
        return values
    qrels = [ir_measures.Qrel(question_id, section, 1)
             for question_id, sections in judged.items() for section in sorted(sections)]
    run = [ir_measures.ScoredDoc(question_id, section, score)
           for question_id in judged for section, score in _scored(rankings.get(question_id, ()))]
    for result in ir_measures.iter_calc(list(measures), qrels, run):
        values[result.query_id][measures[result.measure]] = float(result.value)
    return values


def _scored(ranking: Sequence[str]) -> Iterable[tuple[str, float]]:
    """Scores that only keep the order: trec_eval sorts by score and breaks ties by id, not by rank."""
    sections = list(dict.fromkeys(ranking))
    return ((section, float(len(sections) - place)) for place, section in enumerate(sections))


def run_lines(rankings: Mapping[str, Sequence[str]], tag: str) -> str:
    """A TREC run: `question Q0 section rank score tag`, a line for each ranked section, ranks from 1."""
    return "".join(
        f"{_token(question_id)} Q0 {_token(section)} {rank} {score:g} {_token(tag)}\n"
        for question_id in sorted(rankings)
        for rank, (section, score) in enumerate(_scored(rankings[question_id]), start=1))


def qrels_lines(relevant: Mapping[str, set[str]]) -> str:
    """TREC qrels: `question 0 section 1`, a line for each relevant section."""
    return "".join(f"{_token(question_id)} 0 {_token(section)} 1\n"
                   for question_id in sorted(relevant) for section in sorted(relevant[question_id]))


def _token(text: str) -> str:
    if text and not any(character.isspace() for character in text):
        return text
    return quote(text, safe="!#$&'()*+,/:;=?@[]~") or "%20"
