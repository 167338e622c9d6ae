"""Releases: one number for the corpus, that is for the versions of its tables and the indexes over them.

What belongs here: the release file, publishing it and choosing the served one. What does not: reading
tables at a release (`retrieval/corpus.py`), deciding whether a refresh is due, and removing old releases
(`cleanup.py`). Delta commits table by table; a corpus needs one version. So a release is published last,
as one file that appears whole or not at all, and a kill at any moment leaves the served one in place.

On disk, below the data folder: `releases/<n>.json`, one file a release, never rewritten except to mark it
as cleaned; `releases/current`, the number served; `releases/newest`, the highest number whose publish was
completed, written after `current`: a higher release file is one whose publish was cut off. Numbers are
never used again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipelines import files
from pipelines.deletion_vectors import deletion_vectors
from pipelines.errors import EspalierError, RunFailure, UserError, argument
from pipelines.locking import short_lock
from pipelines.settings import DataFolder

SERVED = "served_release"
"""Lock of a moment: which release is served, and which ones can be."""


class Release(BaseModel):
    """What one release consists of. Paths of indexes are relative to the data folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int = Field(ge=1)
    created_at: datetime
    tables: dict[str, int] = Field(description="Version of each table of the corpus")
    n_buckets: int = Field(ge=1)
    encoder: str
    encoder_dim: int = Field(ge=1)
    parser_version: int = Field(ge=1)
    token_counter: str
    indexes: dict[str, str] = Field(description="Folder of each index, relative to the data folder")
    router: dict[str, float] = Field(description="Thresholds of the similarity router")
    counts: dict[str, int] = Field(description="Rows of the tables and what else a reader may want to know")
    settings_sha256: str
    cleaned: bool = Field(False, description="Its files were removed: it can be listed but not served")

    def is_same_corpus(self, other: Release) -> bool:
        """Whether a publish of this after `other` would change nothing but the number."""
        changing = {"number", "created_at", "indexes", "counts", "cleaned"}
        return self.model_dump(exclude=changing) == other.model_dump(exclude=changing)


def _file(data: DataFolder, number: int) -> str:
    return f"{data.releases}/{number}.json"


def release_numbers(data: DataFolder) -> list[int]:
    """Numbers of all release files, ascending, whether readable or not."""
    matches = (re.fullmatch(r"(\d+)\.json", name) for name in files.list_folder(data.releases))
    return sorted(int(match[1]) for match in matches if match)


def read_release(data: DataFolder, number: int) -> Release:
    """The release of that number. Raises UserError when there is none, RunFailure when it is damaged."""
    if isinstance(number, bool) or not isinstance(number, int):
        raise UserError("release", repr(number), "the number of a release", f"Correct {argument('release')}.")
    path = _file(data, number)
    try:
        release = Release.model_validate(files.read_json(path))
    except FileNotFoundError:
        known = ", ".join(map(str, release_numbers(data))) or "none"
        raise UserError(f"release {number}", f"no {path}", f"one of the releases: {known}",
                        f"See `espalier release list --data {data.root}`.") from None
    except (ValidationError, ValueError) as error:
        raise _damaged(data, number, _what(error)) from error
    if release.number != number:
        raise _damaged(data, number, f"it is the file of release {release.number}")
    return release


def kept_release(data: DataFolder, number: int) -> Release:
    """As `read_release`, and raises UserError when clean-up has removed the release's files."""
    release = read_release(data, number)
    if release.cleaned:
        usable = [other.number for other in list_releases(data) if not other.cleaned]
        raise UserError(f"release {number}", "clean-up has removed its files",
                        f"one of the kept releases: {', '.join(map(str, usable)) or 'none'}",
                        f"See `espalier release list --data {data.root}`.")
    return release


def _what(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'content'}: {first['msg']}"
    return str(error)


def _damaged(data: DataFolder, number: int, what: str) -> RunFailure:
    return RunFailure(f"release {number}", f"{_file(data, number)} is damaged ({what})",
                      "a release file as a build publishes it", _remedy(data, number))


def _remedy(data: DataFolder, number: int) -> str:
    others = [release.number for release in list_releases(data)
              if release.number != number and not release.cleaned]
    if others:
        return f"Serve a kept release: `espalier release use {others[-1]} --data {data.root}`."
    return f"Run `espalier build --data {data.root}` with the same input: it publishes a new release."


def list_releases(data: DataFolder) -> list[Release]:
    """All readable releases, ascending by number; `damaged_releases` has the others."""
    return _read_all(data)[0]


def damaged_releases(data: DataFolder) -> dict[int, RunFailure]:
    """Why a release cannot be read, for each that cannot."""
    return _read_all(data)[1]


def _read_all(data: DataFolder) -> tuple[list[Release], dict[int, RunFailure]]:
    readable: list[Release] = []
    damaged: dict[int, RunFailure] = {}
    for number in release_numbers(data):
        path = _file(data, number)
        try:
            readable.append(Release.model_validate(files.read_json(path)))
        except (ValidationError, ValueError, OSError) as error:
            damaged[number] = RunFailure(
                f"release {number}", f"{path} is damaged ({error})", "a release file as a build publishes it",
                "Serve another release or build again.")
    return readable, damaged


def _read_number(data: DataFolder, name: str) -> int | None:
    path = f"{data.releases}/{name}"
    try:
        text = files.read_text(path).strip()
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, OSError) as error:
        text = str(error)
    if not re.fullmatch(r"[1-9]\d*", text):
        known = [release.number for release in list_releases(data) if not release.cleaned]
        use = f"use {known[-1]}" if known else "list"
        step = f"Choose the release to serve: `espalier release {use} --data {data.root}`."
        raise RunFailure(f"release pointer {path}", f"{text[:60]!r}", "the number of a release", step)
    return int(text)


def served_number(data: DataFolder) -> int | None:
    """Number of the served release; None before the first publish. Raises RunFailure when it is damaged."""
    return _read_number(data, "current")


def current_release(data: DataFolder) -> Release:
    """The served release.

    Raises UserError when none was published, RunFailure when its file is missing or damaged.
    """
    number = served_number(data)
    if number is None and (kept := list_releases(data)):
        raise UserError(f"data folder {data.root}", "no release is served, its pointer is gone",
                        f"one of the releases {', '.join(str(release.number) for release in kept)}",
                        f"Run `espalier release use {kept[-1].number} --data {data.root}`.")
    if number is None:
        raise UserError(f"data folder {data.root}", "no published release", "a corpus that was built",
                        f"Run `espalier build --data {data.root}`.")
    try:
        return read_release(data, number)
    except UserError:
        raise RunFailure(f"release {number}", f"it is served, but {_file(data, number)} is missing",
                         "the file of the served release", _remedy(data, number)) from None


def candidate(
    data: DataFolder, *, tables: Mapping[str, int], n_buckets: int, encoder: str, encoder_dim: int,
    parser_version: int, token_counter: str, router: Mapping[str, float], settings_sha256: str,
    counts: Mapping[str, int], indexes: Mapping[str, str] | None = None,
) -> Release:
    """A release with the next free number, not yet published.

    A publish that was cut off is completed first. The number is the same at every call until it is
    published, so that indexes which a killed build has finished are found again.
    """
    finish_publish(data)
    return Release(
        number=next_number(data), created_at=datetime.now(UTC), tables=dict(tables), n_buckets=n_buckets,
        encoder=encoder, encoder_dim=encoder_dim, parser_version=parser_version, token_counter=token_counter,
        indexes=dict(indexes or {}), router=dict(router), counts=dict(counts),
        settings_sha256=settings_sha256, cleaned=False,
    )


def next_number(data: DataFolder) -> int:
    """The number of the next release: above every number that was ever published."""
    return max([*release_numbers(data), _highest_completed(data)], default=0) + 1


def _highest_completed(data: DataFolder) -> int:
    return max(_read_number(data, "newest") or 0, served_number(data) or 0)


def publish(data: DataFolder, release: Release) -> Release:
    """Publish a release and serve it: the last act of a refresh.

    Raises RunFailure when its tables or indexes are not there, or when the number is taken: of two that
    publish at once one wins, and the other changes nothing.
    """
    finish_publish(data)
    check_usable(data, release)
    path = _file(data, release.number)
    taken = RunFailure(f"release {release.number}", f"{path} exists: another run has published that number",
                       "a number that was never used", "Run the command again: it takes the next number.")
    if release.number < next_number(data):
        raise taken
    try:
        files.create_bytes(path, (release.model_dump_json(indent=1) + "\n").encode())
        _serve(data, release.number)
    except FileExistsError:
        raise taken from None
    except OSError as error:
        raise RunFailure(f"release {release.number}", f"{path} or its pointer cannot be written ({error})",
                         "a writable disk", "Make room and run the command again: it completes the publish."
                         ) from error
    return release


def _serve(data: DataFolder, number: int) -> None:
    files.write_text(f"{data.releases}/current", f"{number}\n")
    files.write_text(f"{data.releases}/newest", f"{number}\n")


def finish_publish(data: DataFolder) -> Release | None:
    """Complete a publish that was killed between the release file and the pointers; else None."""
    numbers = release_numbers(data)
    if not numbers or numbers[-1] <= _highest_completed(data):
        return None
    try:
        release = read_release(data, numbers[-1])
    except RunFailure:
        # Damaged before it was ever served: its number is spent, nothing else follows from it.
        return None
    _serve(data, release.number)
    return release


def use_release(data: DataFolder, number: int) -> Release:
    """Serve the release of that number, an older one too.

    Raises UserError for a number without a release, RunFailure when its tables or indexes are gone.
    """
    release = kept_release(data, number)
    check_usable(data, release)
    try:
        _read_number(data, "newest")
    except RunFailure:
        # Whoever chooses what is served also ends every publish that was cut off.
        files.write_text(f"{data.releases}/newest", f"{release_numbers(data)[-1]}\n")
    with short_lock(data, SERVED):
        # Clean-up may have removed its files while they were looked at.
        kept_release(data, number)
        files.write_text(f"{data.releases}/current", f"{number}\n")
    return release


def check_usable(data: DataFolder, release: Release) -> None:
    """Raise RunFailure unless every table version and every index of the release is there and whole.

    Local data files are looked for one by one; on an object store only the Delta log is read.
    """
    import os
    from urllib.parse import unquote

    from pipelines.retrieval.index_files import check_index
    from pipelines.storage import open_table

    for name, version in sorted(release.tables.items()):
        table = open_table(data, name, version)
        if not files.is_remote(data.root):
            vectors = {vector.file for vector in deletion_vectors(table, data.table(name)) if vector.file}
            wanted = [*table.file_uris(), *(f"{data.table(name)}/{file}" for file in sorted(vectors))]
            missing = [uri for uri in wanted
                       if not os.path.exists(uri) and not os.path.exists(unquote(uri))]
            if missing:
                raise RunFailure(f"release {release.number}", f"{len(missing)} data files of table {name} at "
                                 f"version {version} are missing, such as {missing[0]}",
                                 "every file of the pinned versions", _remedy(data, release.number))
    for name, folder in sorted(release.indexes.items()):
        try:
            check_index(data, folder)
        except RunFailure as error:
            raise RunFailure(f"release {release.number}",
                             f"its index {name} cannot be used ({error.subject}: {error.found})",
                             error.expected, _remedy(data, release.number)) from error


def usable_release(data: DataFolder) -> Release | None:
    """The served release if it is whole, else None: a build then has a release to publish."""
    try:
        release = current_release(data)
        check_usable(data, release)
    except EspalierError:
        return None
    # One of its tables was made again: a version of that number may hold other rows now.
    return None if release.cleaned else release


def mark_cleaned(data: DataFolder, release: Release) -> None:
    """Note in the release's file that its tables or indexes are no longer complete."""
    marked = release.model_copy(update={"cleaned": True})
    files.write_text(_file(data, release.number), marked.model_dump_json(indent=1) + "\n")
