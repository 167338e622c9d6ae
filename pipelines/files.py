"""Small files, local or on an object store: read, write as a whole, create once, list, remove.

What belongs here: the few file operations that releases, watermarks, index manifests and exported models
need, each the same for a local path and for an object store's address. What does not: tables
(`storage.py`). A write is whole or absent: locally a temporary file is flushed to disk and renamed, an
object store replaces an object at once. Object stores are reached through delta-rs, with the credentials
that the tables use.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

_COPY_CHUNK_BYTES = 8 << 20
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


def is_remote(path: str) -> bool:
    """Whether `path` is an address (`s3://…`, `file://…`) rather than a local path."""
    return "://" in path


def _store(address: str) -> tuple[Any, str]:
    """The object store of an address, and the key in it: `s3://bucket/data/x` → bucket's store, `data/x`."""
    scheme, _, rest = address.partition("://")
    container, _, key = rest.partition("/")
    return _connect(f"{scheme}://{container}/"), key


@lru_cache(maxsize=8)
def _connect(root: str) -> Any:
    from deltalake._internal import DeltaFileSystemHandler

    return DeltaFileSystemHandler(table_uri=root, options=None, known_sizes=None)


def read_bytes(path: str) -> bytes:
    """The content of a small file. Raises FileNotFoundError, and OSError for other failures."""
    if not is_remote(path):
        return Path(path).read_bytes()
    store, key = _store(path)
    stream = store.open_input_file(key)
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
    """Replace the file at once: a reader sees the old content or the new, also after a power cut.

    A link is followed: what it points to is replaced, not the link.
    """
    if is_remote(path):
        store, key = _store(path)
        stream = store.open_output_stream(key, None)
        stream.write(content)
        stream.close()
        return
    path = os.path.realpath(path)
    try:
        with _temporary_beside(path, content) as temporary:
            os.replace(temporary, path)
    except OSError as error:
        # As it is, it names the temporary file, or none.
        raise OSError(error.errno, error.strerror or str(error), path) from error
    _sync_folder(path)


def write_text(path: str, text: str) -> None:
    """`write_bytes` of UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: str, value: Any) -> None:
    """`write_bytes` of indented JSON with sorted keys, so that equal values are equal files."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def create_bytes(path: str, content: bytes) -> None:
    """Create a file that must not exist yet; of two that try at once locally, exactly one succeeds.

    Raises FileExistsError. On an object store, and on a file system without links, the check and the write
    are two steps: there only the build lock keeps two writers apart.
    """
    if not is_remote(path):
        try:
            with _temporary_beside(path, content) as temporary:
                # A link, unlike a rename, fails when the name is taken.
                os.link(temporary, path)
            _sync_folder(path)
            return
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
    if exists(path):
        raise FileExistsError(path)
    write_bytes(path, content)


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


def file_sha256(path: Path) -> str:
    """SHA-256 of a local file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def exists(path: str) -> bool:
    """Whether there is a file or folder at `path`."""
    if not is_remote(path):
        return os.path.exists(path)
    folder, _, name = path.rpartition("/")
    return name in list_folder(folder)


def list_folder(folder: str) -> list[str]:
    """Names in a folder, sorted, without hidden ones; none when the folder does not exist."""
    if is_remote(folder):
        store, key = _store(folder)
        infos = store.get_file_info_selector(key, True, False)
        names = {info.path.rstrip("/").rpartition("/")[2] for info in infos}
    else:
        names = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    return sorted(name for name in names if name and not name.startswith("."))


def present(folder: str, names: Iterable[str]) -> list[str]:
    """Those of the files, named relative to `folder`, that exist, sorted."""
    if not is_remote(folder):
        return sorted(name for name in names if os.path.exists(os.path.join(folder, name)))
    store, key = _store(folder)
    infos = store.get_file_info_selector(key, True, True)
    return sorted(set(names) & {info.path.removeprefix(f"{key}/") for info in infos})


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it. A folder that does not exist is no error."""
    if is_remote(folder):
        store, key = _store(folder)
        infos = store.get_file_info_selector(key, True, True)
        remove_files(folder, [info.path.removeprefix(f"{key}/") for info in infos if info.is_file])
    elif os.path.isdir(folder):
        shutil.rmtree(folder)


def remove_files(folder: str, names: Iterable[str]) -> None:
    """Remove files, named relative to `folder`. One that does not exist is no error."""
    if is_remote(folder):
        store, key = _store(folder)
        for name in names:
            store.delete_file(f"{key}/{name}")
        return
    for name in names:
        Path(folder, name).unlink(missing_ok=True)


def upload(source: Path, target: str) -> None:
    """Copy a local file of any size to an address."""
    store, key = _store(target)
    stream = store.open_output_stream(key, None)
    with source.open("rb") as content:
        while chunk := content.read(_COPY_CHUNK_BYTES):
            stream.write(chunk)
    stream.close()


def download(source: str, target: Path) -> None:
    """Copy a file of any size from an address to a local path. Raises FileNotFoundError."""
    store, key = _store(source)
    stream = store.open_input_file(key)
    left = stream.size()
    with target.open("wb") as content:
        while left > 0:
            chunk = stream.read(min(left, _COPY_CHUNK_BYTES))
            content.write(chunk)
            left -= len(chunk)
