"""What `espalier ask` says where there is no evidence: why, and which option would change that."""

from __future__ import annotations

import pytest

from jobs.cli import main
from pipelines.settings import DataFolder


@pytest.mark.parametrize(("options", "told"), [
    (["--budget", "1"], "No evidence: nothing of what was found fits into --budget 1. Give a larger one."),
    (["--k", "0"], "No evidence: --k 0 retrieves nothing. Give a larger one."),
    (["--method", "flat_bm25"], "No evidence found. No passage has: xyzzy, plugh. Try other words, or --method "
                                "flat."),
])
def test_no_evidence_is_explained(shared_data: DataFolder, capsys: pytest.CaptureFixture[str],
                                  options: list[str], told: str) -> None:
    question = "xyzzy plugh" if "flat_bm25" in options else "What is a beak?"
    assert main(["ask", "--data", shared_data.root, "--method", "flat", *options, question]) == 0
    assert told in capsys.readouterr().out.splitlines()
