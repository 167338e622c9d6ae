"""Whole documents: Markdown with real tables, outline, JSON."""

from __future__ import annotations

from pipelines.documents.outline import outline, to_json, to_markdown
from pipelines.documents.tree import Document, TreeBuilder

OWL_MARKDOWN = """\
# Owl

Owls are birds of prey. They hunt at night.

## Diet

Most owls eat these animals:

- small mammals
  1. voles
  2. field mice
- fish, by the fishing owls of Asia

Pellets hold what they cannot digest. Bones and fur are found in them.

## Range

Owls live on all continents but one.

| Species | Wingspan | Countries |
| --- | --- | --- |
| Barn owl | 95 cm | 140 |
| Snowy owl |  | 12 |

## Owls in art

**Athena**
: The goddess carries an owl on the silver coins of Athens.

## See also"""


def test_markdown_of_a_document(owl: Document) -> None:
    assert to_markdown(owl) == OWL_MARKDOWN


def test_markdown_of_a_section_and_of_a_row(owl: Document) -> None:
    assert to_markdown(owl, owl.at([3]).node_id) == \
        "## Owls in art\n\n**Athena**\n: The goddess carries an owl on the silver coins of Athens."
    assert to_markdown(owl, owl.at([2, 1, 1]).node_id) == "Barn owl | 95 cm | 140"
    assert to_markdown(owl, owl.at([2, 1, 1, 1]).node_id) == "95 cm"


def table(*rows: list[tuple[str, str, dict[str, str]]], caption: str = "") -> str:
    builder = TreeBuilder("T")
    builder.open("table")
    if caption:
        builder.add("caption", text=caption)
    for row in rows:
        builder.open("tr")
        for tag, text, attrs in row:
            builder.add(tag, text=text, attrs=attrs)
        builder.close()
    return to_markdown(Document("xx:9", builder.finish()), 1)


def test_spanned_columns_and_rows_stay_empty() -> None:
    assert table([("th", "a", {"rowspan": "2"}), ("th", "b", {"colspan": "2"})],
                 [("td", "c", {}), ("td", "d", {})],
                 [("td", "e", {}), ("td", "f", {}), ("td", "g", {})], caption="Letters") == (
        "*Letters*\n\n| a | b |  |\n| --- | --- | --- |\n|  | c | d |\n| e | f | g |")


def test_a_table_without_header_row_gets_an_empty_one_and_short_rows_are_filled() -> None:
    assert table([("th", "Born", {}), ("td", "1905", {})], [("td", "x", {})]) == (
        "|  |  |\n| --- | --- |\n| Born | 1905 |\n| x |  |")


def test_marks_that_would_break_a_table_are_escaped_and_absurd_spans_are_bounded() -> None:
    assert table([("th", "a | b\nc", {})]) == "| a \\| b<br>c |\n| --- |"
    assert table([("td", "x", {"colspan": "99999", "rowspan": "many"})]).count("---") == 100


def test_a_row_span_over_the_end_of_the_next_row_keeps_its_columns() -> None:
    assert table([("th", "a", {}), ("th", "b", {})], [("td", "c", {}), ("td", "d", {"rowspan": "2"})],
                 [("td", "e", {})], [("td", "f", {}), ("td", "g", {})]) == (
        "| a | b |\n| --- | --- |\n| c | d |\n| e |  |\n| f | g |")


def test_code_math_quotations_and_nested_tables() -> None:
    builder = TreeBuilder("T")
    builder.add("pre", text="a```b\n  c")
    builder.add("math", text="e = mc^2")
    builder.open("blockquote")
    builder.add("p", text="first\nsecond")
    builder.close()
    builder.open("table")
    builder.open("tr")
    builder.open("td", text="outer")
    builder.open("table")
    builder.open("tr")
    builder.add("td", text="in")
    builder.add("td", text="ner")
    assert to_markdown(Document("xx:9", builder.finish())) == (
        "# T\n\n````\na```b\n  c\n````\n\n$$\ne = mc^2\n$$\n\n> first\n> second\n\n"
        "|  |\n| --- |\n| outer<br>in<br>ner |")


def test_every_word_of_the_tree_is_in_the_markdown(owl: Document) -> None:
    text = to_markdown(owl)
    assert [word for word in owl.visible_text().split() if word not in text] == []


def test_outline_names_ids_paths_and_shortens_text(owl: Document) -> None:
    lines = outline(owl, characters=20).split("\n")
    assert len(lines) == len(owl)
    assert lines[:6] == [
        "0 #/ document: Owl",
        "  1 #/0 p: Owls are birds of p…",
        "  2 #/1 section 2: Diet",
        "    3 #/1/0 p: Most owls eat these…",
        "    4 #/1/1 ul",
        "      5 #/1/1/0 li: small mammals",
    ]


def test_json_has_every_node_with_its_parent(owl: Document) -> None:
    exported = to_json(owl)
    assert {key: exported[key] for key in ("doc_id", "title", "uri")} == {
        "doc_id": "xx:1", "title": "Owl", "uri": "https://xx.example/Owl"}
    nodes = exported["nodes"]
    assert nodes[0] == {"id": 0, "parent": None, "path": [], "kind": "structure", "tag": "document",
                        "level": 0, "text": "Owl"}
    assert [node["text"] for node in nodes] == [node.text for node in owl]
    assert all(nodes[node["parent"]]["path"] == node["path"][:-1] for node in nodes[1:])
