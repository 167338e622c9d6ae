"""The code of a registered router, as MLflow runs it: lines of a routing state in, action lines out.

MLflow keeps a copy of this file beside a router's files and runs the copy when it loads the model, so that
nothing is pickled; the file uses the project's packages, which must be installed where it is served. A row of
the input is a state: `question`, `router_text`, `lines` (the legal lines, one a line) and, for a scorer,
`features` (JSON, a row of numbers a line). A row of the output has `actions`: action lines, or the refusal. An
adapter decides by `score`, with its own threshold.

What belongs here: that translation. What does not: deciding (`pipelines/methods`), and the store
(`router_registry.py`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlflow.pyfunc  # noqa: TID253 (MLflow alone imports this module)
from mlflow.models import set_model  # noqa: TID253

MOST_ACTIONS = 10


class RegisteredRouter(mlflow.pyfunc.PythonModel):  # type: ignore[misc]
    """A router's files behind MLflow's interface."""

    def load_context(self, context: Any) -> None:
        """Load the files. Raises UserError for a router of other features or another prompt format."""
        path = Path(context.artifacts["router"])
        self._is_scorer = path.is_file()
        if self._is_scorer:
            from pipelines.methods.scorer_router import Scorer

            self._scorer = Scorer.load(path)
        else:
            from pipelines.models.adapter import load_adapter, read_card

            self._threshold = read_card(path).score_threshold
            self._model = load_adapter(path)

    # Without hints: MLflow reads them as a schema, and warns of the signature that it was given another way.
    def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]
        """A frame of states → a frame of the same length with the column `actions`."""
        import pandas

        return pandas.DataFrame({"actions": [self._decide(row) for row in model_input.to_dict("records")]})

    def _decide(self, row: dict[str, str]) -> str:
        from pipelines.methods.llm_router import choose_by_score
        from pipelines.methods.router_prompt import prompt
        from pipelines.methods.routing import EXPAND, REFUSAL
        from pipelines.methods.scorer_router import decide

        lines = row["lines"].splitlines()
        if not lines:
            return REFUSAL
        if self._is_scorer:
            import numpy as np

            odds = self._scorer.log_odds(np.asarray(json.loads(row["features"]), np.float32)).tolist()
            return decide(lines, odds, self._scorer.thresholds)
        messages = prompt(row["router_text"], can_expand=any(line.startswith(EXPAND) for line in lines))
        *values, refusal = self._model.score(messages, [*lines, REFUSAL]).log_probabilities
        chosen = choose_by_score(lines, [value - refusal for value in values], self._threshold, MOST_ACTIONS, True)
        return "\n".join(chosen) or REFUSAL


set_model(RegisteredRouter())
