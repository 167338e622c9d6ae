"""Errors name arguments to who calls the library and options to who types commands; results print as a line."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main
from pipelines.api import Answer, Corpus, Shown, make_request
from pipelines.documents.citation import Citation, parse_address
from pipelines.documents.readers.dump import Page
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.render import Rendering
from pipelines.documents.tree import Document
from pipelines.errors import EspalierError, RunFailure, UserError, UserErrors, argument
from pipelines.evaluation.datasets import Question, QuestionSet
from pipelines.evaluation.predictions import Prediction
from pipelines.methods.base import Option
from pipelines.methods.options import read_options
from pipelines.methods.registry import make_method
from pipelines.releases import read_release
from pipelines.retrieval.budget import Context, Evidence
from pipelines.settings import DataFolder

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ("pipelines", "spark_jobs", "assets")


@pytest.mark.parametrize(("call", "keyword", "option"), [
    (lambda: make_request("q", 0), "budget=", "--budget"),
    (lambda: make_request("q", True), "budget=", "--budget"),
    (lambda: make_request("q", k=-1), "k=", "--k"),
    (lambda: make_request("q", source="books"), "source=", "--source"),
    (lambda: make_request("q", titles="Aspen"), "titles=", "--title"),
    (lambda: make_request("q", router="nobody"), "router=", "--router"),
    (lambda: make_request("q", router=None), "router=", "--router"),  # type: ignore[arg-type]
    (lambda: make_request("q", reader="nobody"), "reader=", "--reader"),
    (lambda: make_request("q", options=["a"]), "options=", "--set"),  # type: ignore[arg-type]
    (lambda: make_method("rdr3"), "method=", "--method"),
    (lambda: make_method(None), "method=", "--method"),  # type: ignore[arg-type]
    (lambda: make_method("rdr2+none"), "method=", "--method"),
    (lambda: read_options("method rdr2", (), {"odd": "1"}), "options=", "--set"),
    (lambda: read_options("method rdr2", (Option("turns", 1, "turns", 0, 5),), {"turns": "x"}),
     "options={'turns': VALUE}", "--set turns=VALUE"),
])
def test_an_argument_is_named_as_its_reader_writes_it(call: Any, keyword: str, option: str) -> None:
    with pytest.raises(UserError) as caught:
        call()
    assert keyword in caught.value.next_step
    assert "--" not in str(caught.value)
    assert option in str(caught.value.as_command_line())
    assert keyword not in str(caught.value.as_command_line()).replace(option, "")


def test_the_data_folder_and_the_release_are_arguments_too(
        data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ESPALIER_DATA", raising=False)
    with pytest.raises(UserError, match=r"Pass data= or set ESPALIER_DATA\."):
        Corpus.open()
    with pytest.raises(UserError, match="Correct release="):
        read_release(data, "1")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="not readable"):
        parse_address(None)  # type: ignore[arg-type]


def test_the_command_line_names_options(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("ESPALIER_DATA", raising=False)
    assert main(["ask", "q"]) == 2
    assert "Pass --data DIR or set ESPALIER_DATA." in capsys.readouterr().err


def test_both_readings_survive_a_pickle_and_a_list_of_errors() -> None:
    one = RunFailure("dump a", "cut", "a whole file", f"Pass {argument('salvage')}, {argument('set', 'a=b')}.")
    several = UserErrors("dump files", [one, one], f"Pass {argument('full-snapshot')}.")
    for error, python, shell in ((one, "salvage=True, options={'a': 'b'}.", "--salvage, --set a=b."),
                                 (several, "full_snapshot=True.", "--full-snapshot.")):
        for each in (error, pickle.loads(pickle.dumps(error))):  # noqa: S301 - made here
            assert each.next_step == f"Pass {python}"
            assert each.as_command_line().next_step == f"Pass {shell}"
            assert each.as_command_line().exit_code == error.exit_code
            assert "\0" not in repr(each) + str(each) + str(each.as_command_line())


def test_no_error_of_the_library_spells_an_option() -> None:
    """Whole commands may: `espalier build --data X` is typed in a shell whoever reads of it."""
    found = []
    for path in (path for package in LIBRARY for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                texts = [part.value for part in ast.walk(node.exc)
                         if isinstance(part, ast.Constant) and isinstance(part.value, str)]
                words = re.sub(r"`.*?`|(espalier|ray|python) .*", "", " ".join(texts))
                found += [f"{path}: {option}" for option in re.findall(r"--[a-z][a-z-]*", words)]
    assert found == []


LONG = "A text of many words.\n\n" * 500


def results() -> list[object]:
    read = read_wikitext(LONG, LONG, SiteInfo("treewiki", "en", {}, {}))
    document = Document("treewiki:1", read.nodes)
    citation = Citation("treewiki:1@1.1#/1", LONG, (1,))
    evidence = Evidence("treewiki:1", LONG, (citation,) * 50, LONG, 0.5)
    context = Context(LONG, 2000, (evidence,) * 50, 1, 0, False)
    words = Rendering(LONG, ())
    return [
        read, document, document[0], citation, evidence, context, words, Page(1, LONG, 0, None, 1, None, LONG),
        Shown(parse_address("treewiki:1"), 1, document, document[0], words),
        Answer(LONG, "rdr2", 1, 1000, LONG, [{"step": LONG}] * 50, 0, 0, 0, 0.1, context),
        Answer(LONG, "rdr2", 1, 1000, None, [], 0, 0, 0, 0.1, context),
        Prediction("q", "rdr2", 1, LONG, 2000, (), trace=[{"step": LONG}]),
        QuestionSet("trees", (Question("q", LONG, ((LONG,),), ()),) * 500),
    ]


@pytest.mark.parametrize("result", results(), ids=lambda result: type(result).__name__)
def test_a_result_prints_as_one_line(result: object) -> None:
    assert len(repr(result)) < 240
    assert "\n" not in repr(result)
    assert type(result).__name__ in repr(result)


def test_an_error_is_an_espalier_error_in_both_languages() -> None:
    assert isinstance(UserError("a", "b", "c", "d").as_command_line(), EspalierError)
