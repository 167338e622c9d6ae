"""The table of templates that make words: names → functions.

What belongs here: the table and how a function is entered. The functions are in `template_words.py` (letters,
languages, signs), `template_values.py` (numbers, dates, places, charts) and `template_citations.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from pipelines.documents.readers.template_call import Call

Handler = Callable[[Call], str]
HANDLERS: dict[str, Handler] = {}
"""Handlers by template name in lower case, English where there is an alias."""


def words(names: str) -> Callable[[Handler], Handler]:
    """Enter a handler under all these names, which are separated by `|`."""
    def enter(handler: Handler) -> Handler:
        for name in names.split("|"):
            HANDLERS[" ".join(name.split())] = handler
        return handler
    return enter


def positional(call: Call) -> list[str]:
    """The unnamed parameters that have words, in order."""
    return [value for value in call.positional() if value]
