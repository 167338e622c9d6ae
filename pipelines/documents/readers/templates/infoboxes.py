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
_PICTURE_KEY = re.compile(
    r"^(?:image|img|photo|picture|logo|map|flag|coat|seal|signature|emblem|bilde|bild|obrazek|imagen|imagem|immagine|hình|ảnh"
    r"|պատկեր|изображение|фото|зображення|kuva|kép|afbeelding|attēls|karte|lua|pushpin|mapframe|locator|skyline|cover)"
    r"[\w ]*$|(?:size|width|px|alt|upright|color|colour|style|class|zoom|sort|maptype|position|mapsize|bg"
    r"|link|align|alignment|float|thumb|radius)\d*$")
_FILE = re.compile(r"\d+\s?(?:x\s?\d+\s?)?px"
                   r"|[^\n|\[\]{}]*\.(?:jpe?g|png|svg|gif|tiff?|og[agv]|webm|webp|djvu|pdf)\s*", re.IGNORECASE)


@blocks_by_pattern
def by_infobox_name(call: Call) -> Block | None:
    """Infoboxes are known by their names' beginnings or ends, in every language."""
    if not _INFOBOX_NAME.search(call.name) or all(name.isdigit() for name in call.ranges):
        return infobox if len(call.ranges) > 1 and _INFOBOX_NAME.search(call.name) else None
    return infobox


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


def parameter_table(walk: Any, call: Call, attribute: str) -> None:
    """A template's parameters as a table with one row each: th key, td value; pictures and layout go."""
    blocks = walk.blocks
    blocks.flush()
    table = blocks.open_table("box", {attribute: " ".join(call.shown_name.split())})
    for key, span in call.ranges.items():
        if is_blank(walk, span):
            continue
        value = _plain(walk, span)
        is_picture = value and len(value) < 60 and "caption" not in key and _PICTURE_KEY.search(key)
        if is_picture or (value and _FILE.fullmatch(value)):
            walk.counts["infobox_pictures"] += 1
            continue
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
        if words and not is_size and not _FILE.fullmatch(words):
            walk.blocks.figures.append((words, call.text("image", "image1", "1")))
    if not walk.blocks.words:
        walk.blocks.flush()
