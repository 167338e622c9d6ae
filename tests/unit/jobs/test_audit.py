"""`espalier audit` on a dump: report, JSON, salvage, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from jobs.cli import main

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
<siteinfo><dbname>lakewiki</dbname><base>https://lake.example/wiki/Main</base><namespaces>
<namespace key="0" /><namespace key="14">Category</namespace></namespaces></siteinfo>
"""


def page(number: int, title: str, text: str, namespace: int = 0, redirect: str = "") -> str:
    target = f'<redirect title="{redirect}" />' if redirect else ""
    return (f"<page><title>{title}</title><ns>{namespace}</ns><id>{number}</id>{target}<revision><id>{number}0</id>"
            f"<timestamp>2024-05-0{number}T00:00:00Z</timestamp><text>{text}</text></revision></page>\n")


PAGES = (page(1, "Lake", "== Fish ==\nPike &lt;!-- two words --&gt; {{odd thing|gone|also=more}}"),
         page(2, "Talk", "x", 1), page(3, "Pond", "", redirect="Lake"), page(4, "Sea", "'''Sea''' [[water]]"),
         page(5, "Void", ""))


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "lake.xml"
    path.write_text(HEAD + "".join(PAGES) + "</mediawiki>\n", encoding="utf-8")
    return path


def test_report_of_a_dump(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--dump", str(dump), "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    assert f"dump: lakewiki, SHA-256 {hashlib.sha256(dump.read_bytes()).hexdigest()}" in shown
    assert "newest revision: 2024-05-05" in shown
    assert "Pages: 3 (2 parsed, 1 empty)" in shown
    assert "Words lost: 1 of 6 words that the page shows, 166.667 in 1,000." in shown
    assert "`lakewiki:1@10." in shown
    assert "odd thing 1" in shown
    assert "no text" in shown
    assert str(dump) not in shown


def test_json_to_a_file(dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "audit.json"
    assert main(["audit", "--dump", str(dump), "--workers", "1", "--limit", "2", "--json", "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    found = json.loads(out.read_text("utf-8"))
    assert found["pages"]["n"] == 2
    assert found["headings"] == {"2": 1}
    assert found["rules"]["comments"] == {"used": 1, "words": 2}
    assert found["words"]["lost"]["by_cause"] == {"unhandled template": {"n": 1, "words": ["more"]}}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["audit.json", "lake.xml"]


def test_a_cut_dump_is_refused_or_salvaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.xml"
    cut.write_text(HEAD + PAGES[0] + PAGES[3][:60], encoding="utf-8")
    assert main(["audit", "--dump", str(cut), "--workers", "1"]) == 2
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "--salvage" in refused.err
    assert main(["audit", "--dump", str(cut), "--workers", "1", "--salvage"]) == 0
    shown = capsys.readouterr().out
    assert "command: espalier audit --dump FILE --salvage" in shown
    assert "Pages: 1 (1 parsed)" in shown


def test_a_wiki_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = tmp_path / "bare.xml"
    bare.write_text("<mediawiki>" + PAGES[0] + "</mediawiki>", encoding="utf-8")
    assert main(["audit", "--dump", str(bare), "--workers", "1"]) == 2
    assert "--wiki NAME" in capsys.readouterr().err
    assert main(["audit", "--dump", str(bare), "--workers", "1", "--wiki", "pondwiki"]) == 0
    assert "dump: pondwiki" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "words"), [
    (["--dump", "x.xml", "--data", "d"], "--dump and --data"),
    (["--dump", "x.xml", "--release", "1"], "--dump and --release"),
    (["--salvage"], "--salvage without --dump"),
    (["--wiki", "enwiki"], "--wiki without --dump"),
    (["--dump", "/nowhere/x.xml"], "No such file"),
    (["--dump", ""], "an empty name"),
    (["--dump", "x.xml", "--limit", "0"], "--limit"),
    (["--dump", "x.xml", "--workers", "-1"], "--workers"),
    (["--dump", "x.xml", "--out", "/nowhere/at/all.md"], "its folder does not exist"),
    (["--dump", "x.xml", "--out", "/dev/null"], "no file"),
    (["--data", "/nowhere/at/all"], "no published release"),
])
def test_wrong_input_is_one_line_in_four_parts(arguments: list[str], words: str,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert words in shown.err
    assert "; expected " in shown.err


def test_the_audit_needs_no_engine(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {name for name in ("pyspark", "dagster", "ray", "mlflow", "torch", "pandas") if name in sys.modules}
    assert main(["audit", "--dump", str(dump), "--workers", "1"]) == 0
    assert {name for name in ("pyspark", "dagster", "ray", "mlflow", "torch", "pandas")
            if name in sys.modules} == before
