"""Text from outside on a terminal or in a log: what would act on it is shown as an escape instead.

What belongs here: which characters act, and the stream that shows them. What does not: what is printed. A command
prints through `visible_output`; nothing else in the project escapes for a terminal. An escape has JSON's form, so
that a line of JSON stays the same value.

Line breaks stay, for a page has lines; whoever puts a name on a line of its own uses `errors.one_line`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f]"             # control characters but tab and line feed
    "|[\u2028\u2029\u202a-\u202e\u2066-\u2069]"  # line separators, embeddings, overrides and isolates
    "|[\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb]"  # invisible operators, deprecated and interlinear marks
    "|[\ud800-\udfff]"                           # what is no character, and no stream can encode
    # Zero width: Khmer, Thai and their like break words there, Arabic and Indic scripts and emoji join there.
    "|(?<![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b"
    "|(?<=[\x00-\x7f])[\u200c\u200d](?=[\x00-\x7f])")


def visible(text: str) -> str:
    r"""The text with every character that acts on a reader's screen as `\uXXXX`; all others as they are."""
    return text if text.isascii() and text.isprintable() else \
        _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class VisibleStream:
    """A text stream that writes `visible` text to another; everything else is the other's."""

    def __init__(self, stream: IO[str]) -> None:
        self.beneath = stream

    def write(self, text: str) -> int:
        """Write it; the number of characters given."""
        self.beneath.write(visible(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


@contextmanager
def visible_output() -> Iterator[None]:
    """Within the block stdout and stderr are `VisibleStream`s."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(Any, VisibleStream(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def stream_beneath(stream: IO[str]) -> IO[str]:
    """The stream that takes control sequences: for a live display, which writes its own and none from outside."""
    return getattr(stream, "beneath", stream)
