"""Which wiki a dump is of, before anything of it is read by Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.dump_files import DumpFile
from pipelines.errors import UserError
from spark_jobs.dumps import wiki_of


@pytest.fixture
def dump(tmp_path: Path) -> DumpFile:
    """A dump without siteinfo."""
    path = tmp_path / "nosite.xml"
    path.write_text("<mediawiki><page><title>Owl</title><ns>0</ns><id>1</id></page></mediawiki>")
    return DumpFile("nosite.xml-00000000", str(path), path.stat().st_size, 0, "0" * 64)


def test_the_given_name_counts(dump: DumpFile) -> None:
    info = wiki_of(dump, "be_x_oldwiki")
    assert (info.wiki, info.language) == ("be_x_oldwiki", "be-x-old")


@pytest.mark.parametrize("name", ["a b", "a:b", "a#/0", "en/wiki", "-x", "", "x" * 65])
def test_a_name_that_no_document_id_could_hold_is_refused(dump: DumpFile, name: str) -> None:
    with pytest.raises(UserError, match="wiki="):
        wiki_of(dump, name)
