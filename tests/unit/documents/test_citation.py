"""Addresses: the grammar both ways, what they name, and that a citation gives back its own quote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.documents.citation import Address, cite, parse_address, resolve
from pipelines.documents.render import whole
from pipelines.documents.tree import Document
from pipelines.errors import UserError


@pytest.mark.parametrize(("text", "address"), [
    ("enwiki:12", Address("enwiki:12")),
    ("enwiki:12@834567.3", Address("enwiki:12", "834567", 3)),
    ("enwiki:12@834567.3#/", Address("enwiki:12", "834567", 3, ())),
    ("enwiki:12@834567.3#/0/3/1", Address("enwiki:12", "834567", 3, (0, 3, 1))),
    ("enwiki:12@834567.3#/0/3/1:120-188", Address("enwiki:12", "834567", 3, (0, 3, 1), (120, 188))),
    ("be_x_oldwiki:7#/2", Address("be_x_oldwiki:7", path=(2,))),
    ("pdf:0a1b2c3d4e5f6071@a1b2c3d4e5f6.1#/4", Address("pdf:0a1b2c3d4e5f6071", "a1b2c3d4e5f6", 1, (4,))),
])
def test_grammar(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "enwiki", "enwiki:", "enwiki:12@", "enwiki:12@83", "enwiki:12#0/1",
                                  "enwiki:12#/0/", "enwiki:12#/a", "enwiki:12#/0:5-", "enwiki:12#/0:9-3",
                                  "enwiki:12#/0:3-3", "enwiki:12:0-3", "Some title"])
def test_anything_else_is_a_users_error(text: str) -> None:
    with pytest.raises(UserError):
        parse_address(text)


@given(st.builds(Address, st.from_regex(r"[a-z_]{2,12}:[0-9]{1,9}", fullmatch=True),
                 st.from_regex(r"[0-9a-f]{1,12}", fullmatch=True), st.integers(1, 99),
                 st.lists(st.integers(0, 5000), max_size=9).map(tuple),
                 st.none() | st.tuples(st.integers(0, 99), st.integers(100, 9999))))
def test_an_address_survives_writing_and_reading(address: Address) -> None:
    assert parse_address(str(address)) == address


def test_a_node_is_named_with_everything_below_a_range_with_its_own_characters(owl: Document) -> None:
    mammals = next(node for node in owl if node.text == "small mammals")
    uri = "xx:1#/" + "/".join(map(str, mammals.path))
    assert resolve(parse_address(uri), owl)[1].text == "small mammals\nvoles\nfield mice"
    assert resolve(parse_address(uri + ":0-13"), owl)[1].text == "small mammals"
    assert resolve(parse_address(uri + ":6-13"), owl)[1].text == "mammals"


@pytest.mark.parametrize(("uri", "found"), [("xx:1#/99", "no such path"), ("xx:1#/0:0-999", "43 characters")])
def test_what_is_not_there_is_a_users_error(owl: Document, uri: str, found: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve(parse_address(uri), owl)
    assert found in caught.value.found


def test_versions_are_compared_only_where_given(owl: Document) -> None:
    assert parse_address("xx:1").fits(owl)
    assert parse_address("xx:1@77.3#/0").fits(owl)
    assert not parse_address("xx:1@77.4#/0").fits(owl)
    assert not parse_address("xx:1@76.3#/0").fits(owl)


def test_a_whole_row_is_one_citation_a_part_of_it_is_cited_by_cell(owl: Document) -> None:
    row = next(node for node in owl if node.tag == "tr" and owl[node.node_id + 1].text == "Barn owl")
    cells = [node.node_id for node in owl.children(row.node_id)]
    (whole_row,) = cite(owl, whole(owl, cells))
    assert (whole_row.quote, whole_row.path) == ("Barn owl | 95 cm | 140", row.path)
    assert [one.quote for one in cite(owl, whole(owl, cells[:2]))] == ["Barn owl", "95 cm"]


@given(data=st.data())
def test_resolving_a_citation_gives_its_quote(owl: Document, data: st.DataObject) -> None:
    nodes = [node for node in owl if node.text and not node.is_structure]
    ranges = []
    for node in data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=12)):
        begin = data.draw(st.integers(0, len(node.text) - 1))
        full = data.draw(st.booleans())
        ranges.append((node.node_id, 0, len(node.text)) if full else
                      (node.node_id, begin, data.draw(st.integers(begin + 1, len(node.text)))))
    for citation in cite(owl, ranges):
        address = parse_address(citation.uri)
        assert address.version == "77.3"
        node, words = resolve(address, owl)
        assert (words.text, node.path) == (citation.quote, citation.path)
