"""A hundred files that are no dump, or one that cannot be read to its end; and how to make them.

Random bytes, formats of other programs, cuts and flipped bytes in every packing, bombs, XML that is deep, wide,
endless or full of entities, odd names, links, loops, folders, pipes.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import socket
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

SEED = 20260101
HEAD = (b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
        b"<siteinfo><dbname>junkwiki</dbname></siteinfo>")
END = b"</mediawiki>\n"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "xml": bytes, "bz2": bz2.compress, "gz": gzip.compress, "xz": lzma.compress}
PIECE_BYTES = 30 << 20


def page(number: int, text: bytes, title: bytes | None = None) -> bytes:
    return (b"<page><title>%s</title><ns>0</ns><id>%d</id><revision><id>%d</id>"
            b"<text>%s</text></revision></page>" % (title or b"Page %d" % number, number, number, text))


def dump(chance: random.Random, n_pages: int = 3) -> bytes:
    """A whole dump, whose words do not compress to nothing."""
    pages = (page(n, bytes(chance.choices(b"abcdefgh ", k=3000))) for n in range(1, n_pages + 1))
    return HEAD + b"".join(pages) + END


def write_junk(folder: Path) -> list[Path]:
    """Make the files in a new folder; returns their paths, a hundred."""
    folder.mkdir()
    paths = []
    for name, content in contents(random.Random(SEED)):
        path = folder / name
        path.write_bytes(content)
        paths.append(path)
    paths += odd_places(folder)
    assert len(paths) == 100, len(paths)
    return paths


def contents(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each plain file."""
    for n in range(8):
        yield f"random-{n}.{['xml', 'bz2', 'gz', 'xz', ''][n % 5]}", chance.randbytes(4 ** (n % 8))
    for ending, pack in PACKERS.items():
        packed = pack(dump(chance))
        for n, share in enumerate((0.02, 0.2, 0.5, 0.8, 0.97)):
            yield f"cut-{n}.xml.{ending}", packed[:max(7, int(len(packed) * share))]
        if ending != "xml":
            # So long that the fault lies behind what is looked at before the reading.
            long = pack(dump(chance, 400))
            for n in range(4):
                broken = bytearray(long)
                broken[len(broken) * (n + 2) // 7] ^= 0xFF
                yield f"flipped-{n}.xml.{ending}", bytes(broken)
        yield f"magic-alone.xml.{ending}", {"xml": b"<", "bz2": b"BZh9", "gz": b"\x1f\x8b\x08",
                                            "xz": b"\xfd7zXZ\x00"}[ending]
        yield f"packed-noise.xml.{ending}", pack(chance.randbytes(5000))
    yield from bombs()
    yield from markup(chance)
    yield from other_formats()


def bombs() -> Iterator[tuple[str, bytes]]:
    """Small files that hold much: a page of 300 MiB, eighty million elements, nothing but spaces."""
    begin = HEAD + b"<page><title>T</title><id>1</id><revision><id>1</id><text>"
    end = b"</text></revision></page>" + END
    for ending, pack in PACKERS.items():
        if ending != "xml":
            # Packed files may be joined: each piece is packed once.
            yield f"bomb-page.xml.{ending}", pack(begin) + pack(b"x" * PIECE_BYTES) * 10 + pack(end)
    elements = gzip.compress(b"<a/>" * (PIECE_BYTES // 4))
    yield "bomb-elements.xml.gz", gzip.compress(HEAD + b"<page>") + elements * 10 + gzip.compress(b"</page>" + END)
    yield "bomb-spaces.xml.bz2", bz2.compress(b" " * PIECE_BYTES) * 10
    yield "packed-twice.xml.gz", gzip.compress(gzip.compress(dump(random.Random(1))))
    yield "memory.xml.xz", greedy_xz(dump(random.Random(2)))


def greedy_xz(data: bytes) -> bytes:
    """An xz file that asks for 4 GiB of memory: the size of its dictionary is forged."""
    packed = bytearray(lzma.compress(data))
    size = (packed[12] + 1) * 4
    header = packed[12: 12 + size - 4]
    place = header.index(b"\x21\x01") + 2
    header[place] = 40
    packed[12: 12 + size] = header + struct.pack("<I", zlib.crc32(header))
    return bytes(packed)


def markup(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """XML that is no dump, or an attack on its reader."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10)).encode()
    laughs = b'<!DOCTYPE m [<!ENTITY e0 "ha">' + entities + b"]>"
    yield "laughs-text.xml", laughs + HEAD + page(1, b"&e9;") + END
    yield "laughs-title.xml", laughs + HEAD + page(1, b"", b"&e9;") + END
    yield "laughs-attribute.xml", laughs + b'<mediawiki xml:lang="&e9;">' + page(1, b"") + END
    yield "deep.xml", HEAD + b"<page>" + b"<a>" * 200_000 + b"</a>" * 200_000 + b"</page>" + END
    yield "deep-alone.xml", b"<a>" * 500_000
    yield "wide.xml", b"<mediawiki " + b" ".join(b'a%d="x"' % n for n in range(200_000)) + b">" + END
    yield "long-tag.xml", b"<" + b"m" * (4 << 20) + b">"
    yield "unclosed.xml", HEAD + page(1, b"a <b c") + END
    yield "crossed.xml", HEAD + b"<page><title>T</page></title>" + END
    yield "stray-end.xml", HEAD + b"</page>" + END
    yield "open-comment.xml", HEAD + page(1, b"x") + b"<!-- never closed" + END
    yield "no-wiki.xml", b"<mediawiki>" + page(1, b"x") + END
    yield "evil-wiki.xml", b"<mediawiki><siteinfo><dbname>../w</dbname></siteinfo>" + page(1, b"x") + END
    yield "latin-1.xml", HEAD + page(1, "Größe".encode("latin-1")) + END
    yield "half-utf-16.xml", (HEAD + page(1, b"x") + END).decode().encode("utf-16")[:-301]
    yield "words.xml", b"These are only words.\n"
    yield "spaces.xml", b" \n\t" * 1000
    yield "empty.xml", b""
    yield "empty.bz2", b""
    yield "nul.xml", b"\0" * 10_000


def other_formats() -> Iterator[tuple[str, bytes]]:
    """Files that other programs write, and a folder may hold beside dumps."""
    tar, packed = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w:gz") as archive:
        member = tarfile.TarInfo("dump.xml")
        member.size = len(HEAD)
        archive.addfile(member, io.BytesIO(HEAD))
    with zipfile.ZipFile(packed, "w") as archive_of_zip:
        archive_of_zip.writestr("dump.xml", HEAD + END)
    yield "dump.tar.gz", tar.getvalue()
    yield "dump.zip", packed.getvalue()
    yield "page.html", b"<!DOCTYPE html><html><body><p>404</p></body></html>"
    yield "feed.xml", b'<?xml version="1.0"?><rss version="2.0"><channel/></rss>'
    yield "table.sql.gz", gzip.compress(b"INSERT INTO `page` VALUES (1,0,'A');\n" * 100)
    yield "paper.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + b"0 obj\n" * 100
    yield "sums.txt", b"d41d8cd98f00b204e9800998ecf8427e  dump.xml.bz2\n"


def odd_places(folder: Path) -> list[Path]:
    """Things that are no plain file under a plain name."""
    names = [b"new\nline.xml", b"\xff\xfe not UTF-8.xml", b"-dash.xml", b"long" + b"x" * 240 + b".xml",
             b"dots...xml", b"tab\tand 'quotes\".xml", "Ünïcödé 📚.xml".encode(), b"  spaces  .xml"]
    paths = []
    for name in names:
        path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
        path.write_bytes(HEAD + page(1, b"cut") + b"<page>" + name[:9].hex().encode())
        paths.append(path)
    (folder / "folder.xml").mkdir()
    (folder / "full-folder.bz2").mkdir()
    (folder / "full-folder.bz2" / "dump.xml").write_bytes(b"<")
    os.mkfifo(folder / "pipe.xml")
    (folder / "nowhere.xml").symlink_to(folder / "missing")
    (folder / "loop.xml").symlink_to(folder / "loop.xml")
    (folder / "ring-1.xml").symlink_to(folder / "ring-2.xml")
    (folder / "ring-2.xml").symlink_to(folder / "ring-1.xml")
    (folder / "device.xml").symlink_to("/dev/zero")
    (folder / "up.xml").symlink_to(folder.parent)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "socket.xml"))
    return [*paths, *(folder / name for name in (
        "folder.xml", "full-folder.bz2", "pipe.xml", "nowhere.xml", "loop.xml", "ring-1.xml", "ring-2.xml",
        "device.xml", "up.xml", "socket.xml"))]
