"""Junk dumps made from a good one: damaged, cut, swapped, nested, wrongly packed, huge, or another thing.

What belongs here: the mutations, from a seed. What does not: what becomes of them (`bench_junk.py`).
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import re
from collections.abc import Callable, Iterator
from hashlib import sha1

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "xml": bytes, "bz2": bz2.compress, "gz": gzip.compress, "xz": lzma.compress}
_FIELDS = ("title", "ns", "id", "timestamp", "sha1", "text", "revision", "page", "model")
_VALUES = (b"", b"-1", b"+7", b"1_000", "١٢٣".encode(), b"2147483648", b"9223372036854775808", b"1e3", b"\x00",
           b"&x;",
           b"<b>1</b>", b"9999-12-31T23:59:59-12:00", b"0000-00-00T00:00:00Z", b"NaN",
           b"x" * 70_000, "\u202e\ufffe".encode())
_JUNK = (b"\x00", b"\x1b", b"\xff", b"\xc3\x28", b"&nbsp;", b"&#0;", b"<", b">", b"]]>", b"<!--", b"<![CDATA[",
         b"<br />",          b"<page>", b"</page>", b"</mediawiki>", b"<?php ?>",
         "\ufdd0\ufffd".encode(), b"\xef\xbb\xbf")


def good_dump(n_pages: int, wiki: str = "junkwiki", first: int = 1) -> bytes:
    """A dump whose texts have their checksums."""
    pages = []
    for number in range(first, first + n_pages):
        text = (f"'''Page {number}''' is a page of [[Page {number - 1}|words]].\n\n"
                f"== Part ==\n* item {number}\n").encode()
        pages.append(b"<page><title>Page %d</title><ns>0</ns><id>%d</id><revision><id>%d</id><timestamp>"
                     b"2024-01-01T00:00:00Z</timestamp><model>wikitext</model><text>%s</text>"
                     b"<sha1>%s</sha1></revision></page>\n" % (
                         number, number, number + 1000, text.replace(b"&", b"&amp;"),
                         sha1(text, usedforsecurity=False).hexdigest().encode()))
    return (b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
            b"<siteinfo><dbname>%s</dbname></siteinfo>\n%s</mediawiki>\n" % (wiki.encode(), b"".join(pages)))


def junk_dumps(seed: int, n_dumps: int, n_pages: int = 6) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each; the same for the same seed."""
    whole = good_dump(n_pages)
    kinds: list[Callable[[random.Random, bytes], bytes]] = [
        _flip_bit, _flip_bit, _cut, _drop_piece, _swap_pieces, _repeat_piece, _insert, _insert, _set_field,
        _set_field, _set_field, _drop_element, _repeat_element, _nest_page, _encode, _declare, _glue, _other_thing]
    for number in range(n_dumps):
        chance = random.Random(f"{seed} {number}")
        kind = kinds[number % len(kinds)]
        data = whole
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            data = kind(chance, data)
        ending, pack = chance.choice(list(PACKERS.items()))
        packed = pack(data)
        if chance.random() < 0.15:
            packed = chance.choice((_flip_bit, _cut, _glue))(chance, packed)
        yield f"{number:03}-{kind.__name__.strip('_')}.xml.{chance.choice((ending, *PACKERS))}", packed


def _place(chance: random.Random, data: bytes) -> int:
    return chance.randrange(max(1, len(data)))


def _flip_bit(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data or b"\0")
    changed[_place(chance, data)] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(chance: random.Random, data: bytes) -> bytes:
    return data[:_place(chance, data)]


def _drop_piece(chance: random.Random, data: bytes) -> bytes:
    place = _place(chance, data)
    return data[:place] + data[place + chance.randrange(1, 200):]


def _swap_pieces(chance: random.Random, data: bytes) -> bytes:
    a, b, c = sorted(_place(chance, data) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def _repeat_piece(chance: random.Random, data: bytes) -> bytes:
    a, b = sorted(_place(chance, data) for _ in range(2))
    return data[:b] + data[a:]


def _insert(chance: random.Random, data: bytes) -> bytes:
    place = _place(chance, data)
    return data[:place] + chance.choice(_JUNK) + data[place:]


def _element(chance: random.Random, data: bytes) -> tuple[int, int, str]:
    name = chance.choice(_FIELDS)
    found = list(re.finditer(rf"<{name}>.*?</{name}>".encode(), data, re.DOTALL))
    match = chance.choice(found) if found else None
    return (match.start(), match.end(), name) if match else (0, 0, name)


def _set_field(chance: random.Random, data: bytes) -> bytes:
    begin, end, name = _element(chance, data)
    return data[:begin] + b"<%s>%s</%s>" % (name.encode(), chance.choice(_VALUES), name.encode()) + data[end:]


def _drop_element(chance: random.Random, data: bytes) -> bytes:
    begin, end, _ = _element(chance, data)
    return data[:begin] + data[end:]


def _repeat_element(chance: random.Random, data: bytes) -> bytes:
    begin, end, _ = _element(chance, data)
    return data[:end] + data[begin:end] + data[end:]


def _nest_page(chance: random.Random, data: bytes) -> bytes:
    begin = _element(chance, data)[0]
    inner = good_dump(1, first=chance.randrange(50, 60))
    page = inner[inner.index(b"<page>"): inner.index(b"</page>") + 7]
    inside = data.find(b">", begin) + 1
    return data[:inside] + page + data[inside:]


def _encode(chance: random.Random, data: bytes) -> bytes:
    text = data.decode(errors="replace").replace("words", "wörds ŝ 📚")
    return text.encode(chance.choice(("utf-16", "utf-32", "latin-1", "utf-7", "utf-16-le", "shift_jis")), "replace")


def _declare(chance: random.Random, data: bytes) -> bytes:
    entity = chance.choice(('"x"', 'SYSTEM "file:///etc/hostname"', '"&e;&e;"', '"<page/>"'))
    where = chance.choice((b"words", b"item", b"Page 3"))
    return (f"<?xml version='1.0' encoding='{chance.choice(('utf-8', 'latin-1', 'nonsense'))}'?>"
            f"<!DOCTYPE mediawiki [<!ENTITY e {entity}>]>").encode() + data.replace(where, b"&e;", 2)


def _glue(chance: random.Random, data: bytes) -> bytes:
    other = chance.choice(list(PACKERS.values()))(good_dump(2, first=80))
    return data + other if chance.random() < 0.5 else other + data


def _other_thing(chance: random.Random, data: bytes) -> bytes:
    return chance.choice((b"", b"\n", b"<html><body>404</body></html>", b"%PDF-1.7\n", chance.randbytes(5000),
                          b"<mediawiki/>", b"[1, 2]", b"<page>" * 9, gzip.compress(data),
                          b"PK\x03\x04" + data[:300]))
