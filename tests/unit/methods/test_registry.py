"""Names, switches and options: what exists is made, what does not is named with what does."""

from __future__ import annotations

from pathlib import Path

import pytest

import pipelines.methods
from pipelines.errors import UserError
from pipelines.methods.base import Option
from pipelines.methods.options import read_options
from pipelines.methods.registry import METHODS, make_method, method_names, options_by_method


def test_every_name_makes_a_method_of_that_name() -> None:
    assert {"flat", "flat_bm25", "flat_hybrid", "rdr2", "rdr2+fill"} <= set(method_names())
    for name in method_names():
        assert make_method(name).name == name


@pytest.mark.parametrize("name", ["", "rdr3", "rdr2+", "rdr2+fil", "flat+fill", "+fill", "RDR2", "rdr2+fill+fill"])
def test_an_unknown_name_is_an_error_that_lists_what_exists(name: str) -> None:
    with pytest.raises(UserError) as caught:
        make_method(name)
    assert any(known in caught.value.expected for known in METHODS)


def test_every_option_explains_itself() -> None:
    for name in method_names():
        for option in make_method(name).options:
            assert option.meaning
            assert option.name.islower()
            assert read_options("x", [option], {}) == {option.name: option.default}


def test_options_go_to_the_methods_that_have_them() -> None:
    given = {"expand_iterations": "2"}
    assert options_by_method(["flat", "rdr2", "rdr2+fill"], given) == {
        "flat": {}, "rdr2": given, "rdr2+fill": given}
    with pytest.raises(UserError, match="no such option"):
        options_by_method(["flat"], {"expand_iterations": "2"})
    with pytest.raises(UserError, match="from 0 to 100"):
        options_by_method(["flat", "rdr2"], {"expand_iterations": "101"})


KNOWN = (Option("n", 3, "a number", 1, 9), Option("share", 0.5, "a share", 0, 1),
         Option("on", False, "a switch"), Option("kind", "a", "a kind", choices=("a", "b")),
         Option("level", None, "of the release", 0, 1))


def test_values_are_read_by_the_type_of_the_default() -> None:
    given = {"n": "9", "share": "1", "on": "True", "kind": "b", "level": "0.25"}
    assert read_options("x", KNOWN, given) == {"n": 9, "share": 1.0, "on": True, "kind": "b", "level": 0.25}
    assert read_options("x", KNOWN, {}) == {"n": 3, "share": 0.5, "on": False, "kind": "a", "level": None}


@pytest.mark.parametrize(("name", "text"), [
    ("n", "0"), ("n", "10"), ("n", "3.0"), ("n", ""), ("share", "nan"), ("share", "x"), ("on", "maybe"),
    ("kind", "c"), ("other", "1"), ("level", "inf")])
def test_wrong_values_are_named(name: str, text: str) -> None:
    with pytest.raises(UserError, match=name):
        read_options("method x", KNOWN, {name: text})


def test_methods_reach_a_release_only_through_the_protocol() -> None:
    folder = Path(pipelines.methods.__path__[0])
    for module in folder.glob("*.py"):
        text = module.read_text()
        assert "retrieval.corpus" not in text, module.name
        assert "deltalake" not in text, module.name
