"""The files that question sets come in: plain, gzip or zip, and the split that a file's name tells.

What belongs here: opening them as streams, the files within a zip, names. What does not: what is in them.
"""

from __future__ import annotations

import codecs
import gzip
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from pipelines.errors import UserError, argument
from pipelines.evaluation.datasets import SPLITS, Split
from pipelines.questions.published.json_stream import JsonError

READ_ERRORS = (OSError, EOFError, zlib.error, zipfile.BadZipFile)
"""What reading raises when a file is cut off or damaged."""
SUFFIXES = (".json", ".jsonl")
_GZIP_MAGIC, _ZIP_MAGIC = b"\x1f\x8b", b"PK\x03\x04"
_TAR_MAGIC, _TAR_MAGIC_PLACE = b"ustar", 257
_SPLIT_WORDS: dict[str, Split] = {
    "train": "train", "training": "train", "dev": "dev", "val": "dev", "valid": "dev", "validation": "dev",
    "eval": "dev", "test": "test"}
"""Words of published names. `eval` names ALCE's files, which were drawn from the sets' dev questions."""


@contextmanager
def opened_files(path: str | Path) -> Iterator[Iterator[tuple[str, BinaryIO]]]:
    """The files in `path`, each with its name, as streams to be read in turn: one, or those of a zip.

    Whether it is compressed is told by its first bytes; of a zip the members that end in .json or .jsonl
    count. Raises UserError when there is no such file, or none in the zip.
    """
    path = Path(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(f"question set {path}", "a folder, pipe or device", "a file",
                            "Give the file itself.")
        with path.open("rb") as stream:
            magic = stream.read(len(_ZIP_MAGIC))
            stream.seek(0)
            if magic == _ZIP_MAGIC:
                with zipfile.ZipFile(stream) as archive:
                    yield _members(path, archive)
            elif magic.startswith(_GZIP_MAGIC):
                yield iter([(str(path), _no_tar(path, cast(BinaryIO, gzip.GzipFile(fileobj=stream))))])
            else:
                yield iter([(str(path), _no_tar(path, stream))])
    except READ_ERRORS as error:
        raise UserError(f"question set {path}", why(error), "a whole file that can be read",
                        "Check the path and its permissions, or fetch it again.") from error


def why(error: BaseException) -> str:
    """What a reading error says, in a few words."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _members(path: Path, archive: zipfile.ZipFile) -> Iterator[tuple[str, BinaryIO]]:
    names = [entry.filename for entry in archive.infolist() if not entry.is_dir() and _is_data(entry.filename)]
    if not names:
        raise UserError(f"question set {path}", "no member that ends in .json or .jsonl",
                        "a zip as the set's authors publish it", "Unpack it and give the file itself.")
    for name in names:
        try:
            member = archive.open(name)
        except RuntimeError as error:  # Encrypted.
            raise UserError(f"question set {path}, member {name}", str(error), "a member that can be read",
                            "Unpack it and give the file itself.") from error
        with member:
            yield f"{path}/{name}", cast(BinaryIO, member)


def _is_data(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return name.endswith(SUFFIXES) and not any(part.startswith((".", "__")) for part in parts)


def _no_tar(path: Path, stream: BinaryIO) -> BinaryIO:
    head = stream.read(_TAR_MAGIC_PLACE + len(_TAR_MAGIC))
    if head.endswith(_TAR_MAGIC):
        raise UserError(f"question set {path}", "a tar archive", "a JSON file of it",
                        "Unpack it and give the file itself.")
    stream.seek(0)
    return stream


def text_reader(stream: BinaryIO) -> Callable[[int], str]:
    """Reads up to about n characters of UTF-8, with or without byte order mark; none at the end.

    Raises JsonError at a byte that is not UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    n_bytes = 0

    def read(n: int) -> str:
        nonlocal n_bytes
        while True:
            content = stream.read(n)
            try:
                text = decoder.decode(content, final=not content)
            except UnicodeDecodeError as error:
                raise JsonError(f"byte {n_bytes + error.start} or near it is not UTF-8", n_bytes) from error
            n_bytes += len(content)
            # Part of a character is no end.
            if text or not content:
                return text

    return read


def split_of_name(name: str) -> Split | None:
    """The split that a file's name tells, as `hotpot_dev_distractor_v1.json`; None when it tells none.

    Raises UserError when it tells several.
    """
    base = PurePosixPath(Path(name).as_posix()).name
    found = {_SPLIT_WORDS[word] for word in re.split(r"[^a-z]+", base.lower()) if word in _SPLIT_WORDS}
    if len(found) > 1:
        told = " and ".join(split for split in SPLITS if split in found)
        raise UserError(f"question set {name}", f"a name that tells {told}", "one split",
                        f"Say which by {argument('split', '|'.join(SPLITS))}.")
    return found.pop() if found else None
