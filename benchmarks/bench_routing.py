"""What a routing decision costs: ways of decoding, beside each other and one after the other, and other routers.

    python -m benchmarks.bench_routing [--states 24] [--tokens 768] [--scorer FILE]

States are those of the first turns that the human-written questions of examples/questions.jsonl lead to in a data
folder (ESPALIER_DATA, else that of `make demo`), evenly spread, with prompts of at most so many tokens. Every way
decides on all of them, a portion of states at a time, the ways in turn, so that other work on the machine slows
all alike. Times are those of the processor on one thread, which waiting for other programs does not count in. No
answers are cached. Beside them: tokens that the model computed a state; whether deciding together changed an
output or a score; and how well `score` decides against `constrained`, with gold actions made from the questions'
evidence and a paired bootstrap over questions.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.curation.gold_teacher import GoldTeacher
from pipelines.curation.router_comparison import compare_routers
from pipelines.curation.router_metrics import Decision, answer_f1, class_figures, macro_f1
from pipelines.curation.states import StateSettings, meet_states
from pipelines.errors import EspalierError
from pipelines.evaluation.corpus_text import DocumentCache, ids_by_title
from pipelines.evaluation.datasets import load_questions
from pipelines.evaluation.gold import GoldLocator
from pipelines.methods.llm_router import Decode, LlmRouter, LlmRouterSettings
from pipelines.methods.router_prompt import router_messages
from pipelines.methods.routers import make_router
from pipelines.methods.routing import Actions, Router, RouterOutput, RouterState, parse_actions, route_together
from pipelines.methods.similarity_router import SimilarityRouter
from pipelines.models.decoding import Decoder
from pipelines.models.local_llm import LocalModel, load_local_model
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.settings import DATA_VARIABLE, DataFolder

REPOSITORY = Path(__file__).resolve().parents[1]
DEMO = REPOSITORY / "data" / "demo"
QUESTIONS = REPOSITORY / "examples" / "questions.jsonl"
PORTION = 8
"""States that are decided on together, some three questions."""
PROMPT_BESIDE_TEXT = 130
"""Tokens of a prompt beside the router text at most: instruction and marks of turns."""


@dataclass
class Case:
    """One state: of which question, and what the evidence asks for."""

    question_id: str
    state: RouterState
    gold: Actions


@dataclass
class Way:
    """One way of deciding, with what it took so far. decide: states of one portion to outputs in their order."""

    name: str
    decide: Callable[[Sequence[RouterState]], list[RouterOutput]]
    seconds: float = 0.0
    tokens_read: int = 0
    outputs: list[RouterOutput] = field(default_factory=list)


def cases_of(corpus: ReleasedCorpus, n_states: int, most_tokens: int) -> list[Case]:
    """States of the questions whose evidence the corpus holds, or that have none to find, evenly spread."""
    questions = load_questions(QUESTIONS, "demo").questions
    locator = GoldLocator(ids_by_title(corpus.data, corpus.release, questions), DocumentCache(corpus),
                          corpus.count_tokens)
    settings = StateSettings(router_text_tokens=most_tokens - PROMPT_BESIDE_TEXT)
    found = []
    for question in questions:
        nodes = locator.nodes(question)
        if nodes or question.is_unanswerable:
            for state, output in meet_states(question, corpus, GoldTeacher(nodes), settings):
                if sum(corpus.count_tokens(message.content) for message in router_messages(state)) <= most_tokens:
                    found.append(Case(question.question_id, state, parse_actions(output.text, state)))
    step = max(1.0, len(found) / n_states)
    return [found[int(place * step)] for place in range(min(n_states, len(found)))]


def ways_of(corpus: ReleasedCorpus, model: LocalModel, decoder: Decoder, scorer: Path | None) -> list[Way]:
    """The ways that are compared, the first one being what the others are measured by."""
    thresholds = corpus.router_thresholds()

    def router_of(decode: Decode) -> LlmRouter:
        return LlmRouter("local", model, LlmRouterSettings(decode, thresholds.get("score", -12.0)), None)

    def alone(router: Router, keeps: bool) -> Callable[[Sequence[RouterState]], list[RouterOutput]]:
        def decide(states: Sequence[RouterState]) -> list[RouterOutput]:
            decoder.forget()
            outputs = []
            for state in states:
                if not keeps:
                    decoder.forget()
                outputs.append(router.route(state))
            return outputs

        return decide

    def together(router: Router) -> Callable[[Sequence[RouterState]], list[RouterOutput]]:
        def decide(states: Sequence[RouterState]) -> list[RouterOutput]:
            decoder.forget()
            return route_together(router, states)

        return decide

    constrained, score = router_of("constrained"), router_of("score")
    similarity = SimilarityRouter(thresholds["answer"], thresholds["expand"])
    ways = [Way("constrained, one by one, nothing shared", alone(constrained, False)),
            Way("constrained, together", together(constrained)),
            Way("score, one by one, nothing shared", alone(score, False)),
            Way("score, one by one", alone(score, True)),
            Way("score, together", together(score)),
            Way("similarity", alone(similarity, True))]
    if scorer is not None:
        ways.append(Way("scorer", alone(make_router(str(scorer), corpus, {"scorer_margin": 0.0}), True)))
    return ways


def measure(ways: Sequence[Way], cases: Sequence[Case], decoder: Decoder) -> None:
    """Let every way decide on every case. What is done once a process is done before, and not counted."""
    for way in ways:
        if not way.name.startswith("constrained"):
            way.decide([cases[0].state])
    for begin in range(0, len(cases), PORTION):
        states = [case.state for case in cases[begin: begin + PORTION]]
        for way in ways:
            n_before, start = decoder.tokens_read, time.process_time()
            way.outputs += way.decide(states)
            way.seconds += time.process_time() - start
            way.tokens_read += decoder.tokens_read - n_before


def largest_difference(one: Way, other: Way) -> float:
    """Of the scores of all lines, in natural log-odds."""
    return max((abs(value - second.details["scores"][line]) for first, second in
                zip(one.outputs, other.outputs, strict=True) for line, value in first.details["scores"].items()),
               default=0.0)


def report(ways: Sequence[Way], cases: Sequence[Case]) -> None:
    """Print the table, and what deciding together and `score` change."""
    n, of_first = len(cases), ways[0].seconds
    print(f"{'':42}{'ms a state':>12}{'ratio':>8}{'tokens a state':>16}")
    for way in ways:
        print(f"{way.name:42}{1000 * way.seconds / n:12,.1f}{way.seconds / of_first:8.3f}"
              f"{way.tokens_read / n:16,.0f}")
    by_name = {way.name: way for way in ways}
    for decode in ("constrained", "score"):
        one, other = by_name[f"{decode}, one by one, nothing shared"], by_name[f"{decode}, together"]
        same = sum(a.text == b.text for a, b in zip(one.outputs, other.outputs, strict=True))
        share = other.seconds / one.seconds
        print(f"{decode}: {same} of {n} outputs the same together as alone, in {share:.2f} of the time")
    one, other = by_name["score, one by one, nothing shared"], by_name["score, together"]
    print(f"score: largest difference of a line's score {largest_difference(one, other):.0e}")
    decisions: dict[str, list[Decision]] = {}
    for name in ("constrained, together", "score, together"):
        decode = name.split(",")[0]
        decisions[decode] = [Decision(case.gold, parse_actions(output.text, case.state))
                             for case, output in zip(cases, by_name[name].outputs, strict=True)]
        found = decisions[decode]
        refuse = class_figures(found, "REFUSE")
        print(f"{decode:12} macro-F1 {macro_f1(found):.3f}  ANS-F1 {answer_f1(found) or 0:.3f}  "
              f"refuse precision {refuse['precision']:.3f}, recall {refuse['recall']:.3f}")
    by_question = {decode: {case.question_id: [d for other, d in zip(cases, found, strict=True)
                                               if other.question_id == case.question_id] for case in cases}
                   for decode, found in decisions.items()}
    for d in compare_routers("score", "constrained", by_question["score"], by_question["constrained"]):
        print(f"score - constrained: {d.metric} {d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}], {d.n} questions")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Returns 1 when deciding together changes an output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=24, help="states at most; each takes some 15 s on one core")
    parser.add_argument("--tokens", type=int, default=768, help="tokens of a prompt at most")
    parser.add_argument("--scorer", type=Path, help="file of a trained scorer; none: it is left out")
    chosen = parser.parse_args(arguments)
    import torch

    try:
        corpus = ReleasedCorpus.open(DataFolder.at(os.environ.get(DATA_VARIABLE) or str(DEMO)))
        model = load_local_model().with_cache(None)
        cases = cases_of(corpus, chosen.states, chosen.tokens)
        ways = ways_of(corpus, model, model.decoder, chosen.scorer)
    except EspalierError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    torch.set_num_threads(1)
    print(f"{len(cases)} states of {len({case.question_id for case in cases})} questions, prompts of at most "
          f"{chosen.tokens} tokens, {sum(len(case.state.legal_lines()) for case in cases) / len(cases):.0f} legal "
          f"lines a state, {model.name}", flush=True)
    measure(ways, cases, model.decoder)
    report(ways, cases)
    outputs = {way.name: [output.text for output in way.outputs] for way in ways}
    return int(any(outputs[f"{decode}, together"] != outputs[f"{decode}, one by one, nothing shared"]
                   for decode in ("constrained", "score")))


if __name__ == "__main__":
    sys.exit(main())
