"""What a language model is told before a router text: the actions, in the order in which they are judged.

What belongs here: the instruction. What does not: the router text (`routing.py`) and decoding
(`llm_router.py`). A change of words here is a new `PROMPT_FORMAT`: adapters are trained on one.
"""

from __future__ import annotations

from pipelines.methods.routing import ANSWER, EXPAND, PREFIX_WORDS, REFUSAL, RouterState
from pipelines.models.llm import Message

_TASK = ("You choose the lines of one document that help to answer a question. A line is `id: text` and stands "
         "indented below its heading. Write one action a line and nothing else:")
_ANSWER = f"{ANSWER} id: first {PREFIX_WORDS} words of the line - where its text answers the question or part of it"
_EXPAND = f"{EXPAND} id: the heading - where the text below a heading is not shown and may hold the answer"
_REFUSE = f"{REFUSAL} - alone, where no line helps"


def router_messages(state: RouterState) -> list[Message]:
    """The conversation that asks for actions: only those that are legal in this state are named."""
    return prompt(state.text, bool(state.expandable), state.can_refuse)


def prompt(router_text: str, can_expand: bool, can_refuse: bool = True) -> list[Message]:
    """The conversation for a router text, where a state's text and what is legal in it are all there is."""
    rules = [_TASK, _ANSWER]
    if can_expand:
        rules.append(_EXPAND)
    if can_refuse:
        rules.append(_REFUSE)
    return [Message("system", "\n".join(rules)), Message("user", router_text)]
