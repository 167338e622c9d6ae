"""Reading of hand-made files: what the tests of every published set ask."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.evaluation.datasets import Question, Split
from pipelines.questions.published.fields import Tally
from pipelines.questions.published.reading import BadItem, format_named, read_pages, read_published


@dataclass(frozen=True)
class Outcome:
    """What a file gave."""

    questions: list[Question]
    bad: list[BadItem]
    tally: Tally

    @property
    def places(self) -> list[tuple[int, str, str]]:
        """Number, reason and field of each item that is no question."""
        return [(item.line.number, item.line.reason, item.line.place) for item in self.bad]


Read = Callable[..., Outcome]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """`read(format, name, content)`: content is text, a JSON value, or with `lines` a list of them, one a line."""

    def _read(format: str, name: str, content: Any, split: Split | None = None, *, lines: bool = False,
              pages: Path | None = None) -> Outcome:
        path = tmp_path / name
        if lines:
            content = "".join(json.dumps(row) + "\n" for row in content)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        tally = Tally()
        found = format_named(format, read_pages(pages, [path]) if pages is not None else None)
        items = list(read_published(found, [path], tally, split))
        return Outcome([item for item in items if isinstance(item, Question)],
                       [item for item in items if isinstance(item, BadItem)], tally)

    return _read
