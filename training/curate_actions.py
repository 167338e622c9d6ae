"""Curate routing actions: what a router should do in the states that questions lead to (docs/training.md).

Each question is retrieved for and routed by a teacher: gold evidence, or a language model. States and legal
actions go to the tables `routing_states` and `routing_actions`, a portion of questions at a time; a run that
was ended goes on behind the last portion, and answers of a model that were paid for come from its cache. The
rows do not depend on the order of questions or on the number of workers. Before a model is asked, the cost is
estimated from the prompts of some questions; `max_cost_usd` ends a run before it, or while it spends.

Run: `python -m training.curate_actions --config FILE` with YAML or JSON as `CurateConfig`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from pipelines.curation.class_tags import TAGS, shares
from pipelines.curation.gold_teacher import GOLD
from pipelines.curation.states import distinct
from pipelines.errors import RunFailure, UserError
from pipelines.evaluation.datasets import Question, QuestionSet, Split, load_questions
from pipelines.evaluation.question_table import read_question_set, write_question_set
from pipelines.methods.llm_router import Decode
from pipelines.methods.routing import PROMPT_FORMAT
from pipelines.models.llm_settings import settings_from_environment
from pipelines.models.load_llm import check_model
from pipelines.retrieval.corpus import ReleasedCorpus
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, create_table, merge_rows, open_table, sql_in, sql_text
from training.command import run_command
from training.curation import Curate, Curated, Curation, InProcess, chunks, ray_curator
from training.states_config import StatesConfig

ESTIMATED_FROM = 50
"""Questions whose prompts are counted for the estimate, evenly spread."""
ESTIMATED_OUTPUT_TOKENS = 20
RAY_ABOVE = 2_000
TABLES = ("routing_states", "routing_actions")


class CurateConfig(StatesConfig):
    """Which questions, which teacher, what a state shows, and what it may cost."""

    questions: Path | None = Field(None, description="Questions file that becomes the set first; none: it is there")
    splits: tuple[Split, ...] = Field(("train", "dev"), description="Splits of it; a question without one is train")
    most_questions: int | None = Field(None, ge=1, description="Questions at most, drawn by their ids; none: all")
    decode: Decode = Field("constrained", description="How a model's output is made")
    max_tokens: int = Field(256, ge=8, description="Length of a model's output at most, in tokens")
    max_cost_usd: float | None = Field(None, ge=0, description="What a model may cost; none: no limit")
    estimate_only: bool = Field(False, description="Print the estimate and ask nothing")
    ray: bool | None = Field(None, description=f"Work on Ray; none: from {RAY_ABOVE} questions on, but not for "
                                               "an endpoint, where this process only waits")
    workers: int | None = Field(None, ge=1, description="Workers on Ray; none: one a CPU")

    @property
    def curation(self) -> Curation:
        """What a worker needs to know."""
        return Curation(self.dataset, self.teacher, self.decode, self.max_tokens, self.states)


@dataclass
class Summary:
    """What a run did. n_known: questions that an earlier run had done. paid_usd: without what a cache answered."""

    n_questions: int
    n_known: int
    n_states: int = 0
    tags: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    n_expelled: int = 0
    n_collapsed: int = 0
    paid_usd: float = 0.0

    def add(self, curated: Curated) -> None:
        """Count what came of one question."""
        if curated.skipped:
            self.skipped[curated.skipped] += 1
        self.n_states += len(curated.states)
        self.paid_usd += curated.paid_usd
        for row in curated.actions:
            self.n_expelled += row["expelled"]
            self.n_collapsed += row["collapsed"]
            if not row["collapsed"]:
                self.tags[row["tag"]] += 1

    def __str__(self) -> str:
        of_each = shares(self.tags)
        balance = ", ".join(f"{tag} {self.tags[tag]:,} ({of_each[tag]:.0%})" for tag in TAGS)
        skipped = "".join(f", {n:,} questions skipped: {why}" for why, n in sorted(self.skipped.items()))
        return (f"{self.n_states:,} states: {balance}{skipped}, {self.n_expelled:,} illegal lines, "
                f"{self.n_collapsed:,} collapsed, {self.paid_usd:.4f} USD")


class Journal:
    """Questions that a curation has committed, one a line, so that a later run can leave them out.

    A question is known by its id, words, answers and evidence: one that was corrected is curated again. It is only
    a shortcut: without it everything is done again, and nothing changes. Its name holds all else that rows depend
    on, and the tables themselves, for tables that were removed must be filled again.
    """

    def __init__(self, data: DataFolder, release: int, curation: Curation) -> None:
        ids = [str(open_table(data, name).metadata().id) for name in TABLES]
        described = json.dumps([ids, "with digests", release, PROMPT_FORMAT, repr(curation)])
        self._path = data.prepare_state() / "curation" / hashlib.sha256(described.encode()).hexdigest()[:24]

    def left(self, questions: Sequence[Question]) -> list[Question]:
        """Those of the questions that were not committed as they are now."""
        done = self._done()
        return [question for question in questions if done.get(question.question_id) != _digest(question)]

    def _done(self) -> dict[str, str]:
        """The digest of each question when it was committed last."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        whole = content[:content.rfind(b"\n") + 1]
        if len(whole) < len(content):  # A kill has cut the last line.
            os.truncate(self._path, len(whole))
        return dict(json.loads(line) for line in whole.splitlines())

    def add(self, questions: Sequence[Question]) -> None:
        """Note questions whose rows are committed."""
        self._path.parent.mkdir(exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps([question.question_id, _digest(question)]) + "\n"
                               for question in questions))
            file.flush()
            os.fsync(file.fileno())


def _digest(question: Question) -> str:
    """16 hex over what states and actions of a question depend on."""
    described = question.to_json()
    said = json.dumps([described[name] for name in ("question", "answers", "evidence")], ensure_ascii=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def chosen_questions(config: CurateConfig, questions: QuestionSet) -> list[Question]:
    """The questions of the set in these splits, each wording once, at most so many.

    Raises UserError when there is none.
    """
    chosen = [question for question in distinct(questions.questions)
              if (question.split or "train") in config.splits]
    if not chosen:
        raise UserError(f"question set {config.dataset!r}", f"no question of the splits {', '.join(config.splits)}",
                        "at least one", "Choose other splits.")

    def drawn(question: Question) -> str:
        return hashlib.sha256(question.question_id.encode()).hexdigest()

    return sorted(chosen, key=drawn)[:config.most_questions]


def estimate(curator: InProcess, questions: Sequence[Question]) -> tuple[int, int, float]:
    """(prompt tokens, output tokens, USD) of the first turns of all questions, from some of them."""
    sample = questions[::max(1, len(questions) // ESTIMATED_FROM)]
    prompts = curator.prompt_tokens(sample)
    scale = len(questions) / len(sample)
    tokens_in, tokens_out = int(sum(prompts) * scale), int(len(prompts) * scale * ESTIMATED_OUTPUT_TOKENS)
    return tokens_in, tokens_out, settings_from_environment().cost_usd(tokens_in, tokens_out)


def curate_actions(data: DataFolder, config: CurateConfig) -> Summary:
    """Curate the questions that no earlier run has done; prints a line a portion.

    Raises UserError for settings, or where the estimate is above `max_cost_usd`; RunFailure where that is
    spent, or where a teacher fails: what was committed stays, and the same command goes on from there.
    """
    check_model(config.teacher, "local", "teacher", (GOLD,))
    corpus = ReleasedCorpus.open(data, config.release)
    if config.questions is not None:
        loaded = load_questions(config.questions, config.dataset)
        chosen_questions(config, loaded)  # A file that gives none does not become the set.
        write_question_set(data, loaded)
    questions = chosen_questions(config, read_question_set(data, config.dataset))
    create_table(data, "routing_states", corpus.release.n_buckets)
    create_table(data, "routing_actions")
    journal = Journal(data, corpus.release.number, config.curation)
    left = journal.left(questions)
    summary = Summary(len(questions), len(questions) - len(left))
    print(f"{len(questions):,} questions of {config.dataset}, {summary.n_known:,} of them done before", flush=True)
    if not left:
        return summary
    curator = InProcess(corpus, config.curation)
    if config.teacher != GOLD:
        _check_cost(*estimate(curator, left), config.max_cost_usd)
    if config.estimate_only:
        return summary
    by_id = {question.question_id: question for question in left}
    with _curate(data, corpus, curator, config, len(left)) as curate:
        for portion in curate(left):
            for name, rows in zip(TABLES, _rows(portion), strict=True):
                merge_rows(data, name, rows)
            _forget(data, corpus.release.number, config, [one.question_id for one in portion if one.skipped])
            journal.add([by_id[curated.question_id] for curated in portion])
            for curated in portion:
                summary.add(curated)
            print(summary, flush=True)
            if config.max_cost_usd is not None and summary.paid_usd > config.max_cost_usd:
                raise RunFailure(f"curation of {config.dataset}", f"{summary.paid_usd:.2f} USD spent",
                                 f"at most {config.max_cost_usd} (max_cost_usd)",
                                 "What was paid for is kept; raise the limit to go on.")
    return summary


def _rows(portion: Sequence[Curated]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """States and actions of a portion."""
    return ([row for curated in portion for row in curated.states],
            [row for curated in portion for row in curated.actions])


def _forget(data: DataFolder, release: int, config: CurateConfig, question_ids: Sequence[str]) -> None:
    """Remove the teacher's actions on the states of questions that give no sample any more: their evidence was
    taken away, or moved to where the corpus has none.
    """
    if not question_ids:
        return
    of_set = f"dataset = {sql_text(config.dataset)} AND release = {release}"
    reader = TableReader(data)
    states = {row["state_id"] for row in reader.rows(
        "routing_states", ("state_id",), f"{of_set} AND {sql_in('question_id', question_ids)}")}
    of_teacher = f"{of_set} AND teacher = {sql_text(config.recorded_teacher)}"
    stale = sorted(states & {row["state_id"] for row in reader.rows("routing_actions", ("state_id",), of_teacher)})
    if stale:
        reader.table("routing_actions").delete(f"{of_teacher} AND {sql_in('state_id', stale)}")


@contextmanager
def _curate(data: DataFolder, corpus: ReleasedCorpus, curator: InProcess, config: CurateConfig,
            n_questions: int) -> Iterator[Curate]:
    is_remote = "://" in config.teacher
    if config.ray if config.ray is not None else n_questions >= RAY_ABOVE and not is_remote:
        with ray_curator(data, corpus.release.number, config.curation, config.workers) as curate:
            yield curate
    else:
        yield lambda questions: map(curator.curate, chunks(questions))


def _check_cost(tokens_in: int, tokens_out: int, cost_usd: float, limit: float | None) -> None:
    price = f"{cost_usd:.2f} USD" if cost_usd else "no price set (ESPALIER_LLM_PRICE_IN, ESPALIER_LLM_PRICE_OUT)"
    print(f"estimate: {tokens_in:,} tokens in, {tokens_out:,} out, {price}", flush=True)
    if limit is not None and cost_usd > limit:
        raise UserError("max_cost_usd", f"{limit}", f"at least the estimate, {cost_usd:.2f} USD",
                        "Raise it, or lower most_questions, k or router_text_tokens.")


def run(config: CurateConfig) -> str:
    """Curate; the progress is what there is to say."""
    curate_actions(DataFolder.at(config.data), config)
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Curate from a config file and print. Returns the exit code."""
    return run_command("curate_actions", "Curate routing actions of a question set.", CurateConfig, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
