"""Both forms of a rendering, to the character, and the parts that say where each character came from."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.documents.render import Rendering, render_context, render_plain, whole
from pipelines.documents.tree import Document, TreeBuilder


def everything(document: Document) -> tuple[tuple[int, int, int], ...]:
    return whole(document, range(len(document)))


OWL_CONTEXT = """\
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
Species | Wingspan | Countries
Barn owl | 95 cm | 140
Snowy owl |  | 12
## Owls in art
Athena
: The goddess carries an owl on the silver coins of Athens.
## See also"""


def test_context_form_of_a_whole_document(owl: Document) -> None:
    assert render_context(owl, everything(owl), headings=True).text == OWL_CONTEXT


def test_plain_form_has_own_words_only(owl: Document) -> None:
    assert render_plain(owl, everything(owl)).text == "\n".join(node_line for node_line in [
        "Owl", "Owls are birds of prey. They hunt at night.", "Diet", "Most owls eat these animals:",
        "small mammals", "voles", "field mice", "fish, by the fishing owls of Asia",
        "Pellets hold what they cannot digest. Bones and fur are found in them.", "Range",
        "Owls live on all continents but one.", "Species | Wingspan | Countries", "Barn owl | 95 cm | 140",
        "Snowy owl | 12", "Owls in art", "Athena",
        "The goddess carries an owl on the silver coins of Athens.", "See also"])


def node_named(document: Document, text: str) -> int:
    return next(node.node_id for node in document if node.text == text)


def test_headings_above_are_printed_once_and_only_where_asked(owl: Document) -> None:
    ids = [node_named(owl, "voles"), node_named(owl, "field mice")]
    items = "  1. voles\n  2. field mice"
    assert render_context(owl, whole(owl, ids), headings=True).text == f"# Owl\n## Diet\n{items}"
    assert render_context(owl, whole(owl, ids), headings=False).text == f"# Owl\n{items}"
    assert render_context(owl, whole(owl, ids), headings=False, title=False).text == items


def test_overlapping_ranges_merge_and_a_gap_is_marked(owl: Document) -> None:
    lead = "Owls are birds of prey. They hunt at night."
    assert render_plain(owl, [(1, 0, 10), (1, 5, 23)]).text == lead[:23]
    assert render_plain(owl, [(1, 24, 43), (1, 0, 23)]).text == lead, "only a space lies between: one range"
    assert render_context(owl, [(1, 0, 4), (1, 24, 28)], headings=False).text == "# Owl\nOwls … They"


def test_a_part_of_a_row_shows_its_cells_without_holes(owl: Document) -> None:
    cells = [node_named(owl, "Barn owl"), node_named(owl, "140")]
    assert render_context(owl, whole(owl, cells), headings=False).text == "# Owl\nBarn owl | 140"


def test_a_range_outside_its_node_is_an_error(owl: Document) -> None:
    with pytest.raises(ValueError, match="xx:1, node 1"):
        render_plain(owl, [(1, 0, 44)])


def test_marks_of_nested_containers() -> None:
    builder = TreeBuilder("T")
    builder.open("blockquote")
    builder.add("p", text="to be")
    builder.open("ol", attrs={"start": "4"})
    builder.add("li", text="four")
    builder.open("li", text="five")
    builder.add("p", text="more on five")
    document = Document("xx:9", builder.finish())
    assert render_context(document, everything(document), headings=True).text == \
        "# T\n> to be\n> 4. four\n> 5. five\n>   more on five"


def test_nested_rows_stand_on_their_own_lines_and_a_cells_list_stays_in_its_row() -> None:
    builder = TreeBuilder("T")
    builder.open("table")
    builder.open("tr")
    builder.add("th", text="Members")
    builder.open("td", text="since 1990:")
    builder.open("ul")
    builder.add("li", text="Ann")
    builder.add("li", text="Bob")
    builder.close()
    builder.open("table")
    builder.open("tr")
    builder.add("td", text="inner")
    builder.close_to(2)
    builder.add("td", text="last")
    document = Document("xx:9", builder.finish())
    text = render_plain(document, everything(document)).text
    assert text == "T\nMembers | since 1990: Ann Bob | last\ninner"


def test_a_line_break_in_a_cell_does_not_break_its_row() -> None:
    builder = TreeBuilder("T")
    builder.add("p", text="kept\nhere")
    builder.open("table")
    builder.open("tr")
    builder.add("td", text="a\nb")
    builder.add("td", text="c")
    document = Document("xx:9", builder.finish())
    for rendering in (render_plain(document, everything(document)),
                      render_context(document, everything(document), headings=True)):
        assert rendering.text.removeprefix("# ") == "T\nkept\nhere\na b | c"
        part = next(part for part in rendering.parts if document[part.node_id].text == "a\nb")
        assert rendering.text[part.begin: part.end] == "a b"


def assert_parts_are_true(document: Document, rendering: Rendering) -> None:
    end = 0
    for part in rendering.parts:
        assert end <= part.begin < part.end
        end = part.end
        words = document[part.node_id].text[part.node_begin:]
        assert rendering.text[part.begin: part.end] == words[: part.end - part.begin]


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_parts_name_exactly_the_shown_characters(owl: Document, data: st.DataObject) -> None:
    with_text = [node for node in owl if node.text and not node.is_structure]
    ranges = []
    for node in data.draw(st.lists(st.sampled_from(with_text), min_size=1, max_size=6)):
        begin = data.draw(st.integers(0, len(node.text) - 1))
        ranges.append((node.node_id, begin, data.draw(st.integers(begin + 1, len(node.text)))))
    wanted = {(node_id, place) for node_id, begin, end in ranges for place in range(begin, end)}
    for rendering in (render_plain(owl, ranges), render_context(owl, ranges, headings=True)):
        assert_parts_are_true(owl, rendering)
        shown = {(part.node_id, part.node_begin + offset)
                 for part in rendering.parts if not owl[part.node_id].is_structure
                 for offset in range(part.end - part.begin)}
        assert wanted <= shown
        extra = {owl[node_id].text[place] for node_id, place in shown - wanted}
        assert extra <= {" "}, "only the space between two ranges may come with them"
