"""What the configs of curation, training and router evaluation share: the corpus, and what a state shows.

What belongs here: these fields alone, so that one file may be copied from job to job.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from pipelines.curation.gold_teacher import GOLD
from pipelines.curation.states import StateSettings
from pipelines.methods.routers import LOCAL_ROUTER
from pipelines.models.export_llm import known_weights
from pipelines.models.load_llm import check_model, load_model
from pipelines.settings import LANGUAGE_MODEL_NAME


class StatesConfig(BaseModel):
    """Of which corpus, questions and teacher, and how states are met. The same in all jobs on the same actions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str | None = Field(None, description="Data folder; none: ESPALIER_DATA")
    release: int | None = Field(None, ge=1, description="Release; none: the served one")
    dataset: str = Field(description="Question set of the table questions")
    teacher: str = Field(GOLD, description="gold, local, or the URL of an endpoint")
    k: int = Field(5, ge=1, le=1000, description="Passages retrieved for a question")
    turns: int = Field(0, ge=0, le=100, description="Headings expanded in a document at most; the paper: 0")
    router_text_tokens: int = Field(3000, ge=100, description="Length of a router text at most, in tokens")
    line_words: int = Field(60, ge=5, description="Words of a node that a router sees")

    @property
    def recorded_teacher(self) -> str:
        """The teacher as `routing_actions` names it: a model by its own name, wherever it was asked.

        Raises UserError for a teacher that does not exist.
        """
        if self.teacher == GOLD:
            return GOLD
        check_model(self.teacher, LOCAL_ROUTER, "teacher", (GOLD,))
        is_local = self.teacher == LOCAL_ROUTER
        return known_weights(LANGUAGE_MODEL_NAME).title if is_local else load_model(self.teacher).name

    @property
    def states(self) -> StateSettings:
        """What the states of a question depend on."""
        return StateSettings(self.k, self.turns, self.router_text_tokens, self.line_words)
