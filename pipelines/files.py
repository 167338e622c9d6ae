"""Small files, local or on an object store: read, write as a whole, create once, list, remove.

What belongs here: the few file operations that releases, watermarks, index manifests and exported models
need, each the same for a local path and for an object store's address. What does not: tables
(`storage.py`). A write is whole or absent: locally a temporary file is flushed to disk and renamed, an
object store replaces an object at once. Object stores are reached through delta-rs, with the credentials
that the tables use.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_COPY_CHUNK_BYTES = 8 << 20


def is_remote(path: str) -> bool:
    """Whether `path` is an address (`s3://…`, `file://…`) rather than a local path."""
    return "://" in path


def _handler(folder: str) -> Any:
    from deltalake._internal import DeltaFileSystemHandler

    return DeltaFileSystemHandler(table_uri=folder, options=None, known_sizes=None)


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name


def read_bytes(path: str) -> bytes:
    """The content of a small file. Raises FileNotFoundError, and OSError for other failures."""
    if not is_remote(path):
        return Path(path).read_bytes()
    folder, name = _split(path)
    stream = _handler(folder).open_input_file(name)
    try:
        return bytes(stream.read(stream.size()))
    finally:
        stream.close()


def read_text(path: str) -> str:
    """The content of a small UTF-8 file. Raises FileNotFoundError, OSError, UnicodeDecodeError."""
    return read_bytes(path).decode()


def read_json(path: str) -> Any:
    """The JSON value in a file. Raises FileNotFoundError, OSError, and ValueError when it is not JSON."""
    return json.loads(read_bytes(path))


def write_bytes(path: str, content: bytes) -> None:
    """Replace the file at once: a reader sees the old content or the new, also after a power cut."""
    if is_remote(path):
        folder, name = _split(path)
        stream = _handler(folder).open_output_stream(name, None)
        stream.write(content)
        stream.close()
        return
    with _temporary_beside(path, content) as temporary:
        os.replace(temporary, path)
    _sync_folder(path)


def write_text(path: str, text: str) -> None:
    """`write_bytes` of UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: str, value: Any) -> None:
    """`write_bytes` of indented JSON with sorted keys, so that equal values are equal files."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def create_bytes(path: str, content: bytes) -> None:
    """Create a file that must not exist yet; of two that try at once locally, exactly one succeeds.

    Raises FileExistsError. On an object store the check and the write are two steps: there only the build
    lock keeps two writers apart.
    """
    if is_remote(path):
        if exists(path):
            raise FileExistsError(path)
        write_bytes(path, content)
        return
    with _temporary_beside(path, content) as temporary:
        # A link, unlike a rename, fails when the name is taken.
        os.link(temporary, path)
    _sync_folder(path)


@contextmanager
def _temporary_beside(path: str, content: bytes) -> Iterator[str]:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        yield temporary
    finally:
        Path(temporary).unlink(missing_ok=True)


def _sync_folder(path: str) -> None:
    """Make a rename durable: the folder's entry is written too."""
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exists(path: str) -> bool:
    """Whether there is a file or folder at `path`."""
    if not is_remote(path):
        return os.path.exists(path)
    folder, name = _split(path)
    return name in list_folder(folder)


def list_folder(folder: str) -> list[str]:
    """Names in a folder, sorted, without hidden ones; none when the folder does not exist."""
    if is_remote(folder):
        infos = _handler(folder).get_file_info_selector("", True, False)
        names = {info.path.strip("/").split("/")[0] for info in infos}
    else:
        names = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    return sorted(name for name in names if name and not name.startswith("."))


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it. A folder that does not exist is no error."""
    if is_remote(folder):
        parent, name = _split(folder)
        _handler(parent).delete_dir(name)
    elif os.path.isdir(folder):
        shutil.rmtree(folder)


def remove_files(folder: str, names: Iterable[str]) -> None:
    """Remove files, named relative to `folder`. One that does not exist is no error."""
    if is_remote(folder):
        handler = _handler(folder)
        for name in names:
            handler.delete_file(name)
        return
    for name in names:
        Path(folder, name).unlink(missing_ok=True)


def upload(source: Path, target: str) -> None:
    """Copy a local file of any size to an address."""
    folder, name = _split(target)
    stream = _handler(folder).open_output_stream(name, None)
    with source.open("rb") as content:
        while chunk := content.read(_COPY_CHUNK_BYTES):
            stream.write(chunk)
    stream.close()


def download(source: str, target: Path) -> None:
    """Copy a file of any size from an address to a local path. Raises FileNotFoundError."""
    folder, name = _split(source)
    stream = _handler(folder).open_input_file(name)
    left = stream.size()
    with target.open("wb") as content:
        while left > 0:
            chunk = stream.read(min(left, _COPY_CHUNK_BYTES))
            content.write(chunk)
            left -= len(chunk)
