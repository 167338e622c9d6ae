"""A data folder after its first build, by what `espalier build` calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jobs.build import BuildRequest, BuildSummary, build
from pipelines.settings import DataFolder


@dataclass(frozen=True)
class Built:
    """A data folder after its first build, what it was built from, and what that build did."""

    data: DataFolder
    dump: Path
    summary: BuildSummary

    def rebuild(self, *dumps: Path) -> BuildSummary:
        """Build again, from the same dump or from others."""
        return build(self.data, BuildRequest(wikipedia=tuple(map(str, dumps or (self.dump,)))))


def build_into(folder: Path, dump: Path) -> Built:
    """Build a dump into a new folder."""
    data = DataFolder.at(folder)
    return Built(data, dump, build(data, BuildRequest(wikipedia=(str(dump),))))
