"""Reading: an answer to a question from the evidence alone, in one of three forms (paper 2510.04293, section 3.1).

What belongs here: the instruction of each form, fitting the evidence to the model, and the plain answer in
an output. What does not: finding evidence (`methods/`), models (`load_llm.py`). Greedy. Without evidence the
answer is the refusal, and no model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.methods.base import Option
from pipelines.models.llm import NO_USAGE, LanguageModel, Message, Usage
from pipelines.models.load_llm import check_model, load_model

NO_READER, LOCAL_READER = "none", "default"
REFUSAL = "Cannot answer"
_LABEL = re.compile(r"^(?:the )?(?:short )?(?:answers?|a)(?: to (?:this|the|your) question)?(?: is| are)?"
                    r"\s*:\s*(?=\S)", re.IGNORECASE)
_MARGIN_TOKENS = 64
"""Room for the marks of a conversation when the evidence is fitted to a model's context."""


@dataclass(frozen=True)
class Form:
    """One form of answers: what is asked for, and tokens at most."""

    instruction: str
    max_tokens: int


_REFUSING = f"If they do not hold the answer, write: {REFUSAL}"
FORMS: dict[str, Form] = {
    "short": Form(f"Answer the question from the paragraphs with one short answer only: a name, a number or a few "
                  f"words, no sentence. {_REFUSING}", 48),
    "list": Form(f"Answer the question from the paragraphs with every answer that they hold, as a list of short "
                 f"answers separated by commas and nothing else. {_REFUSING}", 256),
    "long": Form(f"Answer the question from the paragraphs in an accurate, concise and neutral paragraph that says "
                 f"nothing which they do not. {_REFUSING}", 384),
}
READER_OPTIONS = (
    Option("reader_form", "short", "form of a reader's answer", choices=tuple(FORMS)),
    Option("reader_tokens", 0, "length of a reader's answer at most; 0: by its form", 0, 100_000),
)


@dataclass(frozen=True)
class Reading:
    """An answer and what it took. n_words_cut: words of the evidence that the model's context had no room for."""

    answer: str
    said: str
    usage: Usage
    n_words_cut: int = 0


def check_reader(name: str) -> None:
    """Raise UserError for a name that no reader has, and for a URL that is no address of an endpoint."""
    check_model(name, LOCAL_READER, "reader", (NO_READER,))


def split_options(given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The reader's options and those of the method."""
    own = {option.name for option in READER_OPTIONS}
    return ({name: value for name, value in given.items() if name in own},
            {name: value for name, value in given.items() if name not in own})


class Reader:
    """Answers from evidence with one language model. name: as `--reader` has it."""

    def __init__(self, name: str, model: LanguageModel, form: str, max_tokens: int,
                 count_tokens: Callable[[str], int]) -> None:
        self.name, self.model, self.form, self._count_tokens = name, model, form, count_tokens
        self._max_tokens = max_tokens or FORMS[form].max_tokens

    def read(self, question: str, context: str) -> Reading:
        """Answer. Raises ModelFailure where the model cannot be had, UserError for settings at fault."""
        if not context.strip():
            return Reading(REFUSAL, "", NO_USAGE)
        shown, n_words_cut = self._fitted(question, context)
        said = self.model.complete(reader_messages(self.form, question, shown), self._max_tokens)
        return Reading(plain_answer(said.text, self.form), said.text, said.usage, n_words_cut)

    def _fitted(self, question: str, context: str) -> tuple[str, int]:
        """The evidence as far as the model's context holds it, cut at a line's end, else at a word's."""
        if self.model.context_tokens is None:
            return context, 0
        frame = sum(self._count_tokens(message.content) for message in reader_messages(self.form, question, ""))
        most = self.model.context_tokens - self._max_tokens - frame - _MARGIN_TOKENS
        if self._count_tokens(context) <= most:
            return context, 0
        for parts, joint in ((context.split("\n"), "\n"), (context.split(" "), " ")):
            low, high = 0, len(parts)
            while low < high:
                middle = (low + high + 1) // 2
                if self._count_tokens(joint.join(parts[:middle])) <= most:
                    low = middle
                else:
                    high = middle - 1
            if low:
                shown = joint.join(parts[:low])
                return shown, len(context.split()) - len(shown.split())
        return "", len(context.split())


def make_reader(name: str, options: Mapping[str, Any], count_tokens: Callable[[str], int]) -> Reader | None:
    """The reader of that name, None for `none`. options: values of `READER_OPTIONS`.

    Raises UserError for an unknown name, RunFailure for a local model that was not set up.
    """
    check_reader(name)
    if name == NO_READER:
        return None
    return Reader(name, load_model(name), options["reader_form"], options["reader_tokens"], count_tokens)


def reader_messages(form: str, question: str, context: str) -> list[Message]:
    """Instruction, paragraphs, question."""
    return [Message("system", FORMS[form].instruction),
            Message("user", f"Paragraphs:\n{context}\n\nQuestion: {' '.join(question.split())}")]


def plain_answer(said: str, form: str) -> str:
    """The answer in an output: without a label before it; the short form is its first line, without full stop.

    An output of nothing is the refusal.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        return REFUSAL
    if form == "long":
        return _unlabelled("\n".join(lines))
    if form == "list":
        return ", ".join(_unlabelled(line).lstrip("-*• ").rstrip(",.;") for line in lines)
    return _unquoted(_unlabelled(lines[0]).removesuffix(".")) or REFUSAL


def _unlabelled(text: str) -> str:
    return _LABEL.sub("", text)


def _unquoted(text: str) -> str:
    return text[1:-1].strip() if len(text) > 2 and text[0] in "\"“" and text[-1] in "\"”" else text
