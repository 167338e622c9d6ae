"""A key that a server repeats is masked in every form; a hint at its end stays."""

from __future__ import annotations

import base64
import html
import json
import urllib.parse
from collections.abc import Callable

import pytest

from pipelines.models.masking import mask

KEY = "sk-Secret/9+xY&z_0123456789"


def _in_base64(before: str, after: str = "") -> Callable[[str], str]:
    return lambda key: base64.b64encode(f"{before}{key}{after}".encode()).decode()


@pytest.mark.parametrize("form", [
    pytest.param(str, id="plain"), pytest.param(str.upper, id="upper case"),
    pytest.param(_in_base64(""), id="base64 of the key"),
    pytest.param(_in_base64("Bearer "), id="base64 of the header"),
    pytest.param(_in_base64("u:"), id="base64 of name and key"),
    pytest.param(_in_base64("user:"), id="base64, moved"),
    pytest.param(_in_base64('{"Authorization": "Bearer ', '", "a": 1}'), id="base64 of all headers"),
    pytest.param(lambda key: base64.urlsafe_b64encode(f"??>{key}".encode()).decode(), id="URL-safe base64"),
    pytest.param(lambda key: base64.encodebytes(f"{'x' * 50}{key}".encode()).decode(), id="base64 on lines"),
    pytest.param(lambda key: urllib.parse.quote(_in_base64("u:")(key), safe=""), id="base64 in a URL"),
    pytest.param(lambda key: urllib.parse.quote(key, safe=""), id="URL"),
    pytest.param(lambda key: "".join(f"%{byte:02x}" for byte in key.encode()), id="URL, all of it"),
    pytest.param(json.dumps, id="JSON"), pytest.param(lambda key: key.replace("/", "\\/"), id="JSON with \\/"),
    pytest.param(lambda key: "".join(f"\\u{ord(letter):04X}" for letter in key), id="JSON, all of it"),
    pytest.param(html.escape, id="HTML"),
    pytest.param(lambda key: key.encode().hex(), id="hex"), pytest.param(lambda key: key.encode().hex(" ").upper(),
                                                                         id="hex, upper case, with spaces"),
    pytest.param(lambda key: key[:20], id="cut off"), pytest.param(lambda key: key[5:], id="without its begin"),
])
def test_no_form_of_the_key_is_left(form: Callable[[str], str]) -> None:
    said = f"refused ({form(KEY)}): wrong"
    shown = mask(said, KEY)
    assert shown.startswith("refused")
    assert shown.endswith("wrong")
    assert "…" in shown
    assert len(shown) <= len("refused (“…”): wrong") + 2


def test_a_hint_and_other_words_stay() -> None:
    for said in ("a key ending in 6789 is wrong", "sk-Se***", "", "Grüße 東京 %zz \\u12 &amp; \\", "aGVsbG8="):
        assert mask(said, KEY) == said


def test_every_place_of_a_key_is_masked_and_short_keys_too() -> None:
    assert mask(f"{KEY} and {KEY}, not that", KEY) == "… and …, not that"
    assert mask("key abc", "abc") == "key …"
