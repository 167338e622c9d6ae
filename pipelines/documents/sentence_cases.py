"""Texts with marked sentences, and which of them a splitter gets wrong.

What belongs here: the format of such files and the comparison. What does not: where a sentence ends
(`sentences.py`). One text a line; " | " stands for the space between two sentences, "|" for a boundary without
space; lines that begin with "#" are remarks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Splitter = Callable[[str], list[tuple[int, int]]]
"""A text to its sentences as (begin, end) in code points."""


def read_cases(path: Path) -> list[list[str]]:
    """The texts of a file, each as its sentences; all but the last keep the space behind them. Raises OSError."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.replace(" | ", " |").split("|") for line in lines if line and not line.startswith("#")]


def wrong_cases(cases: list[list[str]], split: Splitter) -> list[tuple[list[str], list[str]]]:
    """(expected, found) sentences of the texts of which at least one sentence is not found exactly."""
    wrong = []
    for parts in cases:
        text = "".join(parts)
        expected = [part.strip() for part in parts]
        found = [text[begin:end] for begin, end in split(text)]
        if found != expected:
            wrong.append((expected, found))
    return wrong
