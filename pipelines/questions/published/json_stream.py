"""JSON of any size, read a piece at a time.

What belongs here: walking through the outer arrays and objects of a JSON text, holding one value of them, and
lines of JSON. What does not: what the values mean. An error in the middle of an array ends the reading, for
nothing tells where its next element begins; a bad line is one line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

CHUNK_CHARACTERS = 1 << 20
MOST_VALUE_CHARACTERS = 1 << 26
"""Of one item: published sets have some of megabytes, none of tens of them."""
_CUT_CHARACTERS = 16
"""An error this close to the end of what was read may only mean that a literal or an escape goes on."""
_SPACE = " \t\r\n"


class JsonError(Exception):
    """What is wrong with a JSON text, and after how many characters of it."""

    def __init__(self, found: str, position: int) -> None:
        super().__init__(found)
        self.found, self.position = found, position


class Repeated(dict[str, Any]):
    """An object in which a key stands twice: the key, and what a reader that does not look would see."""

    key: str


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; `Repeated` when a key stands in it twice."""
    row = dict(pairs)
    if len(row) == len(pairs):
        return row
    repeated = Repeated(row)
    repeated.key = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return repeated


class JsonStream:
    """A cursor in a JSON text. `read(n)` gives up to n characters, none at the end.

    `items` and `members` walk through the array or object at the cursor; the caller takes each value, by
    `value` as a whole or by walking through it in turn, before the next.
    """

    def __init__(self, read: Callable[[int], str], chunk_characters: int = CHUNK_CHARACTERS,
                 most_value_characters: int = MOST_VALUE_CHARACTERS) -> None:
        self._read = read
        self._chunk, self._most = chunk_characters, most_value_characters
        self._decoder = json.JSONDecoder(object_pairs_hook=object_of)
        self._buffer, self._place, self._dropped = "", 0, 0

    @property
    def position(self) -> int:
        """Characters before the cursor."""
        return self._dropped + self._place

    def peek(self) -> str:
        """The next character that is no space, which the cursor then stands at; empty at the end."""
        while True:
            while self._place < len(self._buffer) and self._buffer[self._place] in _SPACE:
                self._place += 1
            if self._place < len(self._buffer):
                return self._buffer[self._place]
            if not self._more():
                return ""

    def items(self) -> Iterator[Any]:
        """The elements of an array, each as a whole. Raises JsonError."""
        for _ in self._elements("[", "]"):
            yield self.value()

    def members(self) -> Iterator[str]:
        """The keys of an object, the cursor at the value of each. Raises JsonError."""
        for _ in self._elements("{", "}"):
            if self.peek() != '"':
                raise self._error("no key")
            key = self.value()
            self._take(":")
            yield key

    def value(self) -> Any:
        """The value at the cursor. Raises JsonError when it is none, is cut off or too large."""
        if not self.peek():
            raise self._error("it ends in the middle")
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._place)
            except json.JSONDecodeError as error:
                cut = (error.msg.startswith("Unterminated string")
                       or error.pos >= len(self._buffer) - _CUT_CHARACTERS)
                if cut and self._more():
                    continue
                raise JsonError("it ends in the middle" if cut else error.msg, self._dropped + error.pos) from error
            except RecursionError:
                raise self._error("nested too deeply") from None
            except ValueError as error:  # A number too long to read.
                raise self._error(str(error)) from error
            if end == len(self._buffer) and self._more():
                continue  # A number may go on in what comes next.
            self._place = end
            return value

    def end(self) -> None:
        """Raises JsonError when anything but space follows."""
        if self.peek():
            raise self._error("more after its end")

    def _elements(self, begin: str, end: str) -> Iterator[None]:
        self._take(begin)
        if self.peek() == end:
            self._place += 1
            return
        while True:
            yield
            following = self.peek()
            if following not in (",", end):
                raise self._error(f"no , or {end}" if following else "it ends in the middle")
            self._place += 1
            if following == end:
                return

    def _take(self, character: str) -> None:
        following = self.peek()
        if following != character:
            raise self._error(f"no {character}" if following else "it ends in the middle")
        self._place += 1

    def _more(self) -> bool:
        """Read on; false, and nothing has changed, at the end."""
        held = len(self._buffer) - self._place
        if held > self._most:
            raise self._error(f"a value of more than {self._most:,} characters")
        # Twice as much each time: a value is decoded again from its beginning, in linear time together.
        read = self._read(max(self._chunk, held))
        if not read:
            return False
        self._buffer = self._buffer[self._place:] + read
        self._dropped += self._place
        self._place = 0
        return True

    def _error(self, found: str) -> JsonError:
        return JsonError(found, self.position)


@dataclass(frozen=True)
class BadText:
    """A line that is no JSON: a short, fixed name of the reason, what was met, and how it begins."""

    reason: Literal["not_utf8", "not_json"]
    found: str
    sample: str


def json_lines(stream: BinaryIO, most_bytes: int = MOST_VALUE_CHARACTERS) -> Iterator[tuple[int, Any]]:
    """Number, from 1, and value of each line that is not blank; a `BadText` for one that is no JSON.

    Of a line longer than `most_bytes` no more than that is held.
    """
    number = 0
    while line := stream.readline(most_bytes):
        number += 1
        if not line.endswith(b"\n") and len(line) == most_bytes:
            while (rest := stream.readline(most_bytes)) and not rest.endswith(b"\n"):
                pass
            yield number, BadText("not_json", f"a line of more than {most_bytes:,} bytes", _begin(line))
        elif line.strip():
            yield number, _value_of(line, number)


def _value_of(line: bytes, number: int) -> Any:
    try:
        return json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"), object_pairs_hook=object_of)
    except UnicodeDecodeError as error:
        return BadText("not_utf8", f"byte {error.start} is not UTF-8", _begin(line))
    except json.JSONDecodeError as error:
        return BadText("not_json", f"not JSON ({error.msg} at column {error.colno})", _begin(line))
    except RecursionError:
        return BadText("not_json", "JSON nested too deeply", _begin(line))
    except ValueError as error:  # A number too long to read.
        return BadText("not_json", f"not JSON ({error})", _begin(line))


def _begin(line: bytes) -> str:
    return line[:500].decode("utf-8", "replace")
