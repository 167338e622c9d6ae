"""Repairs mend the form of a line and nothing else."""

from __future__ import annotations

import pytest

from pipelines.methods.action_repair import repair


@pytest.mark.parametrize(("said", "mended"), [
    ("[ANSWER] 3: Owls are", "[ANSWER] 3: Owls are"),
    ("- [ANSWER] 3: Owls are", "[ANSWER] 3: Owls are"), ("2. [EXPAND] 11: Range", "[EXPAND] 11: Range"),
    ("**[ANSWER] 3: Owls**", "[ANSWER] 3: Owls"), ("`[ANSWER] 3: Owls`", "[ANSWER] 3: Owls"),
    ("[ans] 3: Owls", "[ANSWER] 3: Owls"), ("[EXP] 11 - Range", "[EXPAND] 11: Range"),
    ("ANSWER 3: Owls", "[ANSWER] 3: Owls"), ("Answer: 3: Owls", "[ANSWER] 3: Owls"),
    ("<expand>11: Range</expand>", "[EXPAND] 11: Range"), ("[ANSWER] [3]: Owls", "[ANSWER] 3: Owls"),
    ('[ANSWER] id: 3: "Owls are"', "[ANSWER] 3: Owls are"), ("[ANSWER] 3", "[ANSWER] 3: "),
    ("Cannot answer.", "Cannot answer"), ("[REF]", "Cannot answer"), ("I cannot answer", "Cannot answer"),
    ("```", ""), ("```text\n[ANSWER] 3: Owls\n```", "[ANSWER] 3: Owls"),
    ("[ANSWER] 3: Owls\nCannot answer", "[ANSWER] 3: Owls"),
    ("Cannot answer\nCannot answer", "Cannot answer"),
])
def test_the_form_is_mended(said: str, mended: str) -> None:
    text, n_changed = repair(said)
    assert text == mended
    assert (n_changed > 0) == (text != said)


@pytest.mark.parametrize("said", [
    "Owls eat voles.", "The answer is 3", "[ANSWER] three: Owls", "[OPEN] 3: Owls", "Question: voles", "3: Owls",
    "[ANSWER] : Owls", "[ANSWER] 3 4 5", "1984: a novel"])
def test_what_is_no_action_stays(said: str) -> None:
    assert repair(said) == (said, 0)


def test_nodes_and_words_stay_wrong() -> None:
    assert repair("* [ANSWER] 99: lions")[0] == "[ANSWER] 99: lions"
    assert repair("[EXPAND] 3: Owls")[0] == "[EXPAND] 3: Owls"
