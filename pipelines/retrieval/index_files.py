"""An index's folder on disk: its manifest, its digests, and the local copy of a remote one.

What belongs here: what dense and sparse indexes share as files. What does not: their content. A folder holds
files and, written last, `manifest.json` with the size and SHA-256 of each: a folder without a manifest is
unfinished, and damage is met as one clear error rather than as strange results. Digests are compared once
for each state of a file: a stamp in the local state folder remembers size and time of what was compared.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipelines import files
from pipelines.errors import RunFailure
from pipelines.settings import DataFolder

Manifest = dict[str, Any]

MANIFEST = "manifest.json"


def finish_folder(folder: Path, content: Manifest) -> Manifest:
    """Write the manifest of a folder whose files are complete: `content` and each file's size and digest."""
    for path in folder.iterdir():
        if path.is_file():
            # tantivy makes some of its files for their owner alone.
            path.chmod(0o644)
    facts = {path.name: {"size_bytes": path.stat().st_size, "sha256": files.file_sha256(path)}
             for path in sorted(folder.iterdir())
             if path.is_file() and not path.name.startswith(".") and path.name != MANIFEST}
    manifest = {**content, "files": facts}
    files.write_json(str(folder / MANIFEST), manifest)
    return manifest


def read_manifest(folder: str) -> Manifest | None:
    """The manifest of a finished folder, local or remote; None when it is missing or no JSON object."""
    try:
        manifest = files.read_json(f"{folder}/{MANIFEST}")
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and isinstance(manifest.get("files"), dict) else None


@contextmanager
def building(data: DataFolder, relative: str) -> Iterator[Path]:
    """An empty local folder to build an index in; on success it is at `relative` of the data folder.

    Locally that is the folder itself. For a data folder on an object store it is one in the state folder,
    which is uploaded, the manifest last. Raises RunFailure when it could not be built.
    """
    target = f"{data.root}/{relative}"
    files.remove_folder(target)
    local = _local_copy(data, relative) if files.is_remote(data.root) else Path(target)
    files.remove_folder(str(local))
    try:
        local.mkdir(parents=True)
        yield local
    except (OSError, RuntimeError, ValueError) as error:
        # FAISS reports a full disk as RuntimeError, tantivy as ValueError.
        raise RunFailure(f"index {target}", f"it could not be built ({str(error).splitlines()[0][:300]})",
                         "a writable disk with room for it, and vectors of one dimension",
                         "Nothing was published. Remedy it and run the command again.") from error
    if files.is_remote(data.root):
        for name in sorted(os.listdir(local), key=lambda name: (name == MANIFEST, name)):
            if not name.startswith("."):
                files.upload(local / name, f"{target}/{name}")


def opened(data: DataFolder, relative: str) -> tuple[Path, Manifest]:
    """The local folder of a finished index and its manifest; a remote one is copied when it is new here.

    Raises RunFailure when the index is missing or damaged.
    """
    target = f"{data.root}/{relative}"
    manifest = read_manifest(target)
    if manifest is None:
        raise _broken(data, target, f"no readable {MANIFEST}")
    if not files.is_remote(data.root):
        folder = Path(target)
    else:
        folder = _local_copy(data, relative)
        if read_manifest(str(folder)) != manifest:
            files.remove_folder(str(folder))
            folder.mkdir(parents=True)
            for name in manifest["files"]:
                files.download(f"{target}/{name}", folder / name)
            files.write_json(str(folder / MANIFEST), manifest)
    _verify(data, target, folder, manifest)
    return folder, manifest


def check_index(data: DataFolder, relative: str) -> None:
    """Raise RunFailure unless the index is finished and whole; of a remote one only names are compared."""
    target = f"{data.root}/{relative}"
    manifest = read_manifest(target)
    if manifest is None:
        raise _broken(data, target, f"no readable {MANIFEST}")
    if not files.is_remote(data.root):
        _verify(data, target, Path(target), manifest)
    elif missing := sorted(set(manifest["files"]) - set(files.list_folder(target))):
        raise _broken(data, target, f"{missing[0]} is missing")


def _local_copy(data: DataFolder, relative: str) -> Path:
    return data.state / "copies" / relative


def _verify(data: DataFolder, target: str, folder: Path, manifest: Manifest) -> None:
    stamp_path = data.state / "verified" / f"{target.rpartition('/indexes/')[2].replace('/', '-')}.json"
    stamp: dict[str, list[Any]] = {}
    for name, facts in manifest["files"].items():
        try:
            status = (folder / name).stat()
        except FileNotFoundError:
            raise _broken(data, target, f"{name} is missing") from None
        if status.st_size != facts["size_bytes"]:
            raise _broken(data, target, f"{name} has {status.st_size} bytes, not {facts['size_bytes']}")
        stamp[name] = [status.st_mtime_ns, status.st_ino, facts["sha256"]]
    try:
        known = json.loads(stamp_path.read_bytes())
    except (OSError, ValueError):
        known = None
    if known == stamp:
        return
    for name, facts in manifest["files"].items():
        if files.file_sha256(folder / name) != facts["sha256"]:
            raise _broken(data, target, f"the bytes of {name} are not those that were built")
    try:
        files.write_json(str(stamp_path), stamp)
    except OSError:
        # Who may only read the data folder, or has no room, pays for the comparison every time.
        return


def _broken(data: DataFolder, target: str, what: str) -> RunFailure:
    return RunFailure(f"index {target}", what, "the files that its build wrote",
                      f"Run `espalier build --data {data.root}`, which builds it again, or serve another "
                      "release with `espalier release use N`.")
