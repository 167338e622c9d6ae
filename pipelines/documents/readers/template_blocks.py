"""Templates that make blocks: infoboxes, quotations, lists, picture rows.

What belongs here: one function a kind of template, entered in the table by `@block(names)`. A handler gets
the walk and the `Call`; it opens nodes through `walk.blocks` and reads a parameter as blocks with
`walk.sub_walk(*call.ranges[name])`. To add a template, add an entry here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pipelines.documents.readers import wikitext_marks as mark
from pipelines.documents.readers.namespaces import CATEGORY
from pipelines.documents.readers.template_call import Call

Handler = Callable[[Any, Call], None]
HANDLERS: dict[str, Handler] = {}

_INFOBOX_NAME = re.compile(
    r"^(?:infobox|infoskreine|infokast|infoboks|tekukast|infotaula|ficha|hộp thông tin|thông tin"
    r"|տեղեկաքարտ|картка|карточка|кутија|инфокутија|инфобокс|κουτί|πληροφορίες|info/|taxobox"
    r"|automatic taxobox|speciesbox|chembox|drugbox|geobox|planetbox|starbox|subspeciesbox|mycomorphbox"
    r"|virusbox|bilgi kutusu|صندوق معلومات|معلومات|جعبه|基礎情報|信息框|정보상자|ज्ञानसन्दूक|তথ্যছক)"
    r"|(?:infobox|taxobox|box|infoboks)$")
_PICTURE_KEY = re.compile(
    r"^(?:image|img|photo|picture|logo|map|flag|coat|seal|signature|emblem|bilde|bild|obrazek|imagen|imagem|immagine|hình|ảnh"
    r"|պատկեր|изображение|фото|зображення|kuva|kép|afbeelding|attēls|karte|lua|pushpin|mapframe|locator|skyline|cover)"
    r"[\w ]*$|(?:size|width|px|alt|upright|color|colour|style|class|zoom|sort|maptype|position|mapsize|bg"
    r"|link|align|alignment|float|thumb|radius)\d*$")
_FILE = re.compile(r"\d+\s?(?:x\s?\d+\s?)?px"
                   r"|[^\n|\[\]{}]*\.(?:jpe?g|png|svg|gif|tiff?|og[agv]|webm|webp|djvu|pdf)\s*", re.IGNORECASE)


def block(names: str) -> Callable[[Handler], Handler]:
    """Enter a handler under all these names, separated by `|`."""
    def enter(handler: Handler) -> Handler:
        for name in names.split("|"):
            HANDLERS[" ".join(name.split())] = handler
        return handler
    return enter


def find(call: Call) -> Handler | None:
    """The handler for a call, None if there is none."""
    handler = HANDLERS.get(call.name)
    if handler is None and call.ranges and _INFOBOX_NAME.search(call.name) and len(call.ranges) > 1:
        return infobox
    return handler


def infobox(walk: Any, call: Call) -> None:
    """Rows of key and value."""
    parameter_table(walk, call, "infobox")


def parameter_table(walk: Any, call: Call, attribute: str) -> None:
    """A template's parameters as a table with one row each: th key, td value; pictures and layout go."""
    blocks = walk.blocks
    is_inline = bool(blocks.words)
    if is_inline:
        blocks.flush()
    table = blocks.open_table("box", {attribute: " ".join(call.shown_name.split())})
    for key, span in call.ranges.items():
        value = call.text(key)
        if not value:
            continue
        is_picture = len(value) < 60 and "caption" not in key and _PICTURE_KEY.search(key)
        if is_picture or _FILE.fullmatch(value):
            walk.counts["infobox_pictures"] += 1
            continue
        if walk.site.namespace_of(value)[0] == CATEGORY:
            walk.counts["categories"] += 1
            continue
        blocks.open_row()
        row = None
        if not key.isdigit():
            blocks.open_cell("th", {})
            row = blocks.stack[-2]
            blocks.words.append(key)
            blocks.flush()
        blocks.open_cell("td", {})
        row = row or blocks.stack[-2]
        cell = blocks.stack[-1]
        walk.sub_walk(*span)
        blocks.flush()
        while blocks.stack[-1] is not cell and cell in blocks.stack:
            blocks.pop()
        if cell in blocks.stack and blocks.tree.is_empty(cell.node_id):
            blocks.pop_to(table)
            blocks.tree.discard(row.node_id)
    if table in blocks.stack:
        blocks.pop_to(table)
        blocks.pop()


@block("quote|quote frame")
def quotation(walk: Any, call: Call) -> None:
    """A block quotation; who said it is its last paragraph."""
    blocks = walk.blocks
    blocks.flush()
    blocks.place()
    quote = blocks.push("quote", "blockquote")
    names = ("text", "quote", "1", "content", "цитата", "nội dung")
    name = next((key for key in names if call.text(key)), None)
    if name is not None:
        walk.sub_walk(*call.ranges[name])
    said = [call.text("author", "sign", "by", "cite", "4", "2"), call.text("source", "title", "3")]
    said = [words for words in said if words and not words.rstrip("%pxem").isdigit()]
    if quote in blocks.stack:
        blocks.pop_to(quote)
        if said:
            blocks.words_line = blocks.line
            blocks.words.append("— " + ", ".join(said))
            blocks.flush()
        blocks.pop()


@block("poem quote|poem block")
def poem(walk: Any, call: Call) -> None:
    """Verses: the lines stay."""
    blocks = walk.blocks
    blocks.flush()
    text = call.text("text", "1")
    if text:
        blocks.words_line = blocks.line
        blocks.words.append(text.replace("\n", mark.BREAK))
        blocks.form = "poem"
        blocks.flush()
        blocks.form = "p"
    said = call.text("sign", "author", "2", "source")
    if said:
        blocks.words.append("— " + said)
        blocks.flush()


@block("plainlist|hidden|collapse|hidden text|aligned table|noprint|tree list|block indent|bi|grid list"
       "|col-list")
def content(walk: Any, call: Call) -> None:
    """A wrapper: its parameters are read as blocks in its place."""
    walk.blocks.flush()
    for name in call.ranges:
        if name.isdigit() or name in ("content", "text", "title", "header", "list"):
            walk.sub_walk(*call.ranges[name])
            walk.blocks.close_lists()


@block("unbulleted list|collapsible list|ordered list|numbered list")
def list_of_items(walk: Any, call: Call) -> None:
    """Each unnamed parameter is an item."""
    blocks = walk.blocks
    blocks.flush()
    title = call.text("title", "expand")
    if title and call.name == "collapsible list":
        blocks.words_line = blocks.line
        blocks.words.append(title)
        blocks.flush()
    kind = "ol" if call.name.startswith(("ordered", "numbered")) else "ul"
    blocks.place()
    entry = blocks.push("hlist", kind, value=kind)
    for name, span in call.ranges.items():
        if (name.isdigit() or name == "list") and call.text(name):
            blocks.pop_to(entry)
            item = blocks.push("hitem", "li", owns=True)
            walk.sub_walk(*span)
            if item not in blocks.stack:
                break
    if entry in blocks.stack:
        blocks.pop_to(entry)
        blocks.pop()


@block("clade|cladex|tree chart")
def clade(walk: Any, call: Call) -> None:
    """A cladogram as nested lists: a label, and below it what it branches into."""
    blocks = walk.blocks
    blocks.flush()
    blocks.place()
    entry = blocks.push("hlist", "ul", value="ul")
    for number in [name for name in call.ranges if name.isdigit()]:
        label = call.text(f"label{number}")
        if not label and not call.text(number):
            continue
        if entry not in blocks.stack:
            break
        blocks.pop_to(entry)
        blocks.push("hitem", "li", owns=True)
        if label:
            blocks.words.append(label)
            blocks.flush()
        walk.sub_walk(*call.ranges[number])
    if entry in blocks.stack:
        blocks.pop_to(entry)
        blocks.pop()


@block("bar box|cladogram|barbox|bar chart|brick chart")
def titled_box(walk: Any, call: Call) -> None:
    """A box with a title, rows and a caption."""
    blocks = walk.blocks
    blocks.flush()
    for name in ("title", "left1", "bars", "1", "2", "clades", "cladogram", "caption"):
        if call.text(name):
            walk.sub_walk(*call.ranges[name])
            blocks.close_lists()
            blocks.flush()


@block("multiple image|double image|wide image|tall image|panorama|annotated image|triple image|photo montage"
       "|auto images|external media|superimpose|gallery|stack images")
def pictures(walk: Any, call: Call) -> None:
    """Pictures of a template: their captions become figures."""
    captions = [name for name in call.ranges if re.fullmatch(r"(?:caption|footer|header)\d*", name)]
    if call.name in ("double image", "wide image", "tall image", "panorama"):
        captions += [name for name in ("3", "5", "6", "8") if name in call.ranges]
    if call.name == "gallery":
        captions += [name for name in call.ranges if name.isdigit() and int(name) % 2 == 0]
    for name in captions:
        words = call.text(name)
        is_size = re.fullmatch(r"[\d.]+(?:px)?%?|left|right|none|center", words)
        if words and not is_size and not _FILE.fullmatch(words):
            walk.blocks.figures.append((words, call.text("image", "image1", "1")))
    if not walk.blocks.words:
        walk.blocks.flush()
