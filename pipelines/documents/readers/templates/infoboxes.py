"""Templates that make tables of their parameters, and those that show pictures.

What belongs here: infoboxes of every language, the table that an unknown template of many parameters becomes,
the captions of picture templates.
"""

from __future__ import annotations

import re
from typing import Any

from pipelines.documents.readers.namespaces import CATEGORY
from pipelines.documents.readers.templates.call import BLANK, Call
from pipelines.documents.readers.templates.table import Block, block, blocks_by_pattern

_INFOBOX_NAME = re.compile(
    r"^(?:infobox|infoskreine|infokast|infoboks|tekukast|infotaula|ficha|hộp thông tin|thông tin"
    r"|տեղեկաքարտ|картка|карточка|кутија|инфокутија|инфобокс|κουτί|πληροφορίες|info/|taxobox"
    r"|automatic taxobox|speciesbox|chembox|drugbox|geobox|planetbox|starbox|subspeciesbox|mycomorphbox"
    r"|virusbox|bilgi kutusu|صندوق معلومات|معلومات|جعبه|基礎情報|信息框|정보상자|ज्ञानसन्दूक|তথ্যছক)"
    r"|(?:infobox|taxobox|box|infoboks)$")
PICTURE_KEY = re.compile(
    r"^(?:image|img|photo|picture|logo|map|flag|coat|seal|signature|emblem|bilde|bild|obrazek|imagen|imagem|immagine|hình|ảnh"
    r"|պատկեր|изображение|фото|зображення|kuva|kép|afbeelding|attēls|karte|lua|pushpin|mapframe|locator|skyline|cover)"
    r"[\w ]*$|(?:size|width|px|alt|upright|color|colour|style|class|zoom|sort|maptype|position|mapsize|bg"
    r"|link|align|alignment|float|thumb|radius)\d*$")
LAYOUT_KEY = re.compile(
    r"^(?:background|background[ -]?colou?r|bgcolou?r|bg|fundo|fond|cor|couleur|farbe|цвет|фон|colspan|rowspan"
    r"|valign|font[ -]?size|(?:line|row|text|header|title|border|frame)[ -]?colou?r|css|cellpadding|cellspacing"
    r"|(?:title|header|label|data|above|below|body|list|box|name|row|col|cell|text)(?:style|class|width|align)"
    r"|largura|breite|ширина|largeur|ancho|bredd|breedte|szerokość)\d*$")
LAYOUT_VALUE = re.compile(
    r"#[0-9a-f]{6}|-?[\d.]+(?:px|em|rem)|(?:(?:background|color|text-align|width"
    r"|font-size|font-weight|border|padding|margin|float|vertical-align|white-space)[\w-]*\s*:[^;|]*;?\s*)+"
    r"|collapsed|autocollapse|uncollapsed", re.IGNORECASE)
"""A colour, a size or a style: no fact whatever its key is."""
FILE = re.compile(r"\d+\s?(?:x\s?\d+\s?)?px"
                   r"|[^\n|\[\]{}]*\.(?:jpe?g|png|svg|gif|tiff?|og[agv]|webm|webp|djvu|pdf)\s*", re.IGNORECASE)


def is_infobox(call: Call) -> bool:
    """Infoboxes are known by their names' beginnings or ends, in every language."""
    return bool(_INFOBOX_NAME.search(call.name))


@blocks_by_pattern
def by_infobox_name(call: Call) -> Block | None:
    """An infobox with parameters."""
    if is_infobox(call) and (len(call.ranges) > 1 or not all(name.isdigit() for name in call.ranges)):
        return infobox
    return None


def infobox(walk: Any, call: Call) -> None:
    """Rows of key and value."""
    parameter_table(walk, call, "infobox")


def is_blank(walk: Any, span: tuple[int, int]) -> bool:
    """Whether a parameter holds nothing but space."""
    begin, end = span
    if begin < 0:
        return not walk.inline_text(begin, end).strip(BLANK)
    return begin == end or (end - begin == 1 and not str(walk.tokens[begin].get("text", "x")).strip(BLANK))


def _plain(walk: Any, span: tuple[int, int]) -> str:
    """The words of a parameter without markup, else ''."""
    begin, end = span
    return str(walk.tokens[begin].get("text", "")).strip(BLANK) if 0 <= begin == end - 1 else ""


def is_layout(walk: Any, key: str, span: tuple[int, int]) -> bool:
    """Whether a parameter is a colour, a size or another instruction of layout, by its key or its value."""
    value = _plain(walk, span)
    return bool(value) and len(value) < 200 and bool(LAYOUT_KEY.search(key) or LAYOUT_VALUE.fullmatch(value))


def _is_picture(walk: Any, key: str, span: tuple[int, int]) -> bool:
    """Whether a parameter names a picture or says how one is shown."""
    value = _plain(walk, span)
    if not value:
        return False
    is_key = len(value) < 60 and "caption" not in key and PICTURE_KEY.search(key)
    return bool(is_key or FILE.fullmatch(value))


def says_facts(walk: Any, call: Call) -> bool:
    """Whether a call has named parameters with words of their own."""
    return any(not (name.isdigit() or is_blank(walk, span) or is_layout(walk, name, span)
                    or _is_picture(walk, name, span)) for name, span in call.ranges.items())


def parameter_table(walk: Any, call: Call, attribute: str, open_table: Any = None) -> None:
    """A template's parameters as a table with one row each: th key, td value; pictures and layout go.

    open_table: the table of the page that gets the rows, where the call stands on the line that opens it.
    """
    blocks = walk.blocks
    blocks.flush()
    shown_name = " ".join(call.shown_name.split())
    if open_table is None:
        table = blocks.open_table("box", {attribute: shown_name})
    else:
        table = open_table
        blocks.tree.set_attr(table.node_id, attribute, "")
    for key, span in call.ranges.items():
        if is_blank(walk, span):
            continue
        if _is_picture(walk, key, span):
            walk.counts["infobox_pictures"] += 1
            continue
        if is_layout(walk, key, span):
            walk.counts["layout"] += 1
            continue
        value = _plain(walk, span)
        if value and walk.site.namespace_of(value)[0] == CATEGORY:
            walk.counts["categories"] += 1
            continue
        blocks.open_row()
        row = None
        if not key.isdigit():
            blocks.open_cell("th", {})
            row = blocks.stack[-2]
            blocks.words.append(key)
            blocks.flush()
        cell = blocks.open_cell("td", {})
        row = row or blocks.stack[-2]
        if span[0] < 0:
            blocks.words.append(walk.inline_text(*span))
        else:
            walk.sub_walk(*span)
        blocks.flush()
        if cell in blocks.stack:
            blocks.pop_to(cell)
            blocks.pop()
            if blocks.tree.is_empty(cell.node_id):
                blocks.pop_to(table)
                blocks.tree.discard(row.node_id)
    if table in blocks.stack:
        blocks.pop_to(table)
        if open_table is None:
            blocks.pop()


_CAPTIONS = {"double image": ("6", "7"), "triple image": ("8", "9", "10"), "wide image": ("3",),
             "tall image": ("3",), "panorama": ("3",), "plain image": ("2",)}
"""Unnamed parameters that are captions."""


@block("plain image|multiple image|double image|wide image|tall image|panorama|annotated image|triple image"
       "|photo montage|auto images|external media|superimpose|gallery|stack images")
def pictures(walk: Any, call: Call) -> None:
    """Pictures of a template: their captions become figures."""
    captions = [name for name in call.ranges if re.fullmatch(r"(?:caption|footer|header)\d*", name)]
    captions += [name for name in _CAPTIONS.get(call.name, ()) if name in call.ranges]
    if call.name == "gallery":
        captions += [name for name in call.ranges if name.isdecimal() and int(name[-1]) % 2 == 0]
    for name in captions:
        words = call.text(name)
        is_size = re.fullmatch(r"[\d.]+(?:px)?%?|left|right|none|center", words)
        if words and not is_size and not FILE.fullmatch(words):
            walk.blocks.figures.append((words, call.text("image", "image1", "1")))
    if not walk.blocks.words:
        walk.blocks.flush()
