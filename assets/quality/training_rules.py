"""The quality rules of what routers are trained on, as data: questions, states, actions.

What belongs here: what must hold of rows that a training reads. What does not: released tables (`rules.py`),
types and ranges, which Delta enforces (`schemas.py`), how a rule is computed (`training_faults.py`) and judged
(`training_validation.py`). Only rows that a training of one set would read are judged: states of another
release or prompt format, or of a question that was reworded since, are met by none.
"""

from __future__ import annotations

from dataclasses import dataclass

from assets.quality.rules import KEY_RULE, ROWS_RULE, Rule
from pipelines.questions.leakage import LEAKAGE_RULES
from pipelines.schemas import TABLES

MODEL_TOLERANCE = 0.25


@dataclass(frozen=True)
class TrainingRules:
    """The rules of the rows of one table or of the questions of a training. key: the columns that name a row."""

    key: tuple[str, ...]
    rules: tuple[Rule, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All rules in order, those derived from the schema first."""
        return (ROWS_RULE, KEY_RULE, *(rule.name for rule in self.rules))

    def meaning(self, name: str) -> str:
        """What a rule says, as shown beside the check."""
        if name == ROWS_RULE:
            return "There are rows that a training would read"
        if name == KEY_RULE:
            return f"No two rows have the same {', '.join(self.key)}"
        return next(rule.meaning for rule in self.rules if rule.name == name)

    def tolerance(self, name: str) -> float:
        """The share of rows that may break a rule."""
        return next((rule.tolerance for rule in self.rules if rule.name == name), 0.0)


TRAINING_RULES: dict[str, TrainingRules] = {
    "training_questions": TrainingRules(TABLES["questions"].key, tuple(
        Rule(name, meaning) for name, meaning in LEAKAGE_RULES.items())),
    "routing_states": TrainingRules(TABLES["routing_states"].key, (
        Rule("document_is_released", "The document of a state has a tree in the state's release"),
        Rule("nodes_have_kind", "What is shown exists in that tree and is content; what is hidden, headings"),
        Rule("lines_match_nodes", "Each legal line has the number and the first words of its node"),
        Rule("hash_matches_state", "state_id is made of question, document, router text and prompt format"),
        Rule("state_is_no_copy", "No question meets the same text of a document twice under other ids"),
    )),
    "routing_actions": TrainingRules(TABLES["routing_actions"].key, (
        Rule("state_exists", "No action without its state"),
        Rule("actions_are_legal", "Actions are legal lines of their state, each once"),
        Rule("tag_matches_actions", "The class of a sample is that of its actions"),
        Rule("gold_holds_evidence", "Every node that the gold teacher answers with holds words of a gold quote"),
        Rule("answers_hold_answer", "What another teacher answers with holds a gold quote or an answer, where "
                                    "these are known", tolerance=MODEL_TOLERANCE),
    )),
}
