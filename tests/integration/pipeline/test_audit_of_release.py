"""`espalier audit` on the served release of a data folder that was built."""

from __future__ import annotations

import json

import pytest
from built import Built

from jobs.cli import main
from pipelines.releases import current_release
from pipelines.storage import TableReader


def test_every_document_of_the_served_release_is_audited(small_built: Built,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    data = small_built.data
    assert main(["audit", "--data", data.root, "--workers", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    release = current_release(data)
    statuses = TableReader(data, release.tables).counts("documents", "status")
    statuses.pop("redirect", None)
    assert found["pages"]["by_status"] == statuses
    assert found["source"]["release"].startswith(f"{release.number}, published ")
    assert "treewiki (SHA-256 " in found["source"]["dumps"]
    assert found["headings"]
    assert found["words"]["n_expected"] > 0
    assert found["words"]["lost"]["n"] == found["words"]["invented"]["n"] == 0
    listed = found["speed"]["slowest"][0]["uri"]
    assert main(["show", "--data", data.root, listed, "--outline"]) == 0
