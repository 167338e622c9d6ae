"""Text from outside within Markdown is shown as it is: nothing of it loads, links or breaks a table."""

from __future__ import annotations

import html
import re

import pytest

from assets.metadata import markdown_table
from pipelines.documents.audit.report import _row
from pipelines.markdown import markdown_text

HOSTILE = ["![x](https://a.example/p.png)", "[x](javascript:alert(1))", "<img src=x onerror=alert(1)>", "a|b\nc",
           "\\|", "\\![x](y)", "`code` **b** _i_ ~~s~~ $m$", "&lt;b&gt;",
           "https://a.example www.a.example me@a.example",
           "<https://a.example>", "# heading", "a\x1b[31m\u202eb", "[r]: https://a.example", "\u2028# x"]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_markup_is_left(text: str) -> None:
    escaped = markdown_text(text)
    left = re.sub(r"\\[!-/:-@\[-`{-~]", "", escaped)
    assert not re.search(r"[`*_\[\]<>&|~!$#@\\]|://|www\.", left)
    assert "\n" not in escaped
    assert escaped.isprintable()


@pytest.mark.parametrize("text", ["Aardvark", "Côte d’Ivoire (1960–61)", "a: b, c; \"d\" 'e' 50 %", "日本語"])
def test_ordinary_titles_stay(text: str) -> None:
    assert markdown_text(text) == text


@pytest.mark.parametrize("text", HOSTILE)
def test_a_table_keeps_its_cells(text: str) -> None:
    row = markdown_table(("a", "b"), [(text, 1)]).split("\n")[2]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3


def test_a_title_in_the_audits_table_keeps_its_cell() -> None:
    assert _row([markdown_text("a|b"), "c|d"]) == r"| a\|b | c\|d |"


@pytest.mark.parametrize("text", HOSTILE)
def test_the_report_shows_titles_as_text(text: str) -> None:
    from jinja2 import Environment

    page = Environment(autoescape=True).from_string('<a title="{{ t }}">{{ t }}</a>').render(t=text + '"')
    assert page.count("<") == 2
    assert html.unescape(page) == f'<a title="{text}"">{text}"</a>'
