"""What acts on a terminal is shown as an escape, wherever a command prints; ordinary text of all scripts stays."""

from __future__ import annotations

import io
import json
import sys

import pytest

from jobs.cli import main
from pipelines.visible import VisibleStream, stream_beneath, visible, visible_output


@pytest.mark.parametrize(("text", "shown"), [
    pytest.param("red \x1b[31m", r"red \u001b[31m", id="CSI sequence"),
    pytest.param("\x1b]0;title\x07", r"\u001b]0;title\u0007", id="OSC sequence that sets the window's title, BEL"),
    pytest.param("\x9b31m", r"\u009b31m", id="C1 control sequence introducer"),
    pytest.param("done\rfailed\x08", r"done\u000dfailed\u0008", id="overwriting a line"),
    pytest.param("NUL\0DEL\x7f\x85", r"NUL\u0000DEL\u007f\u0085", id="NUL, DEL, next line"),
    pytest.param("abc\u202egnp.exe", r"abc\u202egnp.exe", id="right-to-left override"),
    pytest.param("\u2066x\u2069\u202a", r"\u2066x\u2069\u202a", id="isolates and embeddings"),
    pytest.param("a\u2028b\u2029c", r"a\u2028b\u2029c", id="line and paragraph separators"),
    pytest.param("pay\u200bpal pay\u200dpal\ufeff", r"pay\u200bpal pay\u200dpal\ufeff", id="zero width in Latin"),
    pytest.param("\udc80", r"\udc80", id="a byte that a terminal passed on undecoded"),
])
def test_what_acts_on_a_screen_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


@pytest.mark.parametrize("text", [
    "plain\n\ttext", "Grüße, naïve, 東京, Ελλάδα",
    "می\u200cخواهم", "שלום\u200e (a)", "\u200fعربي\u200f", "क्\u200dष",
    "ភាសា\u200bខ្មែរ", "👩\u200d👩\u200d👧", "❤\ufe0f",
    "🏴\U000e0067\U000e0062\U000e007f", "e\u0301", "soft\u00adhyphen"])
def test_ordinary_text_of_all_scripts_stays(text: str) -> None:
    assert visible(text) == text


def test_a_line_of_json_stays_the_same_value() -> None:
    value = {"title\x1b": "a\u202eb\u2028c\x9b\x7f\u200bd", "n": [1, "\ud800"]}
    line = visible(json.dumps(value, ensure_ascii=False))
    assert json.loads(line) == value
    assert line.isprintable()


def test_the_stream_shows_and_a_live_display_goes_beneath() -> None:
    inner = io.StringIO()
    stream = VisibleStream(inner)
    print("a\x1b", file=stream)
    stream.writelines(["b\x07\n"])
    print("\x1b[1m", file=stream_beneath(stream))  # type: ignore[arg-type]
    assert inner.getvalue() == "a\\u001b\nb\\u0007\n\x1b[1m\n"
    assert stream_beneath(inner) is inner


def test_streams_come_back() -> None:
    before = sys.stdout, sys.stderr
    with visible_output():
        assert isinstance(sys.stdout, VisibleStream)
    assert (sys.stdout, sys.stderr) == before


def test_an_error_that_quotes_control_characters_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--data", "no\x1b]0;x\x07\nespalier: forged", "enwiki:1"]) == 2
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert "\x07" not in error
    assert error.count("\n") == 1
