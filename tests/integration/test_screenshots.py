"""The pictures of README: a real Dagster server and a real report in a headless Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import Built

ROOT = Path(__file__).resolve().parents[2]
BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome")
                if (path := shutil.which(name))), None)


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_pictures_of_asset_graph_and_report(small: Built, tmp_path: Path) -> None:
    from PIL import Image

    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"id": "q1", "question": "Where do owls live?", "answers": [],
                                     "evidence": []}) + "\n")
    subprocess.run([sys.executable, "-m", "jobs.cli", "evaluate", "--data", small.data.root, "--questions",
                    str(questions), "--methods", "flat_bm25", "--curve", "", "--out", str(tmp_path / "r.json")],
                   check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, str(ROOT / "docs" / "screenshots.py"), "--data", small.data.root, "--out",
                    str(tmp_path)], check=True, cwd=ROOT)
    for name, size in (("asset_graph.png", (2400, 1100)), ("report.png", (1400, 1500))):
        with Image.open(tmp_path / name) as picture:
            assert picture.size == size
            # An empty or failed page has a handful of colours.
            assert len(set(picture.convert("RGB").resize((300, 300)).get_flattened_data())) > 200, name
