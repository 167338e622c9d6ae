"""Writes `notice`: the Wikipedia articles whose words the example questions quote, with their revisions.

Run it after `questions.jsonl` was changed: `python examples/make_notice.py`. With `--counts` it prints the
table of questions by type and split that stands in `README.md`, and writes nothing. The titles come from
the questions' evidence; page ids, revisions and dates are read from the sample dump itself.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from pipelines.documents.readers.dump import Page, iter_pages, sample_dump_path

FOLDER = Path(__file__).resolve().parent
QUESTIONS = FOLDER / "questions.jsonl"
NOTICE = FOLDER / "notice"
TYPES = ("fact", "table", "list", "multi_section", "multi_document", "unanswerable")
SPLITS = ("dev", "test")

HEAD = """\
Quotations from the English Wikipedia
=====================================

The field `quote` of the rows in `questions.jsonl` holds words of the articles named below. They are by the
editors of Wikipedia, who are listed in the history of each article, and are under the Creative Commons
Attribution-ShareAlike 4.0 International licence: https://creativecommons.org/licenses/by-sa/4.0/
Changes: the quotations are excerpts; wiki markup and footnotes are left out, and the cells of a table row
are joined by " | ".

The revisions are those of the dump {dump}.

Each line: title, revision, its date, permanent address.

"""


def read_questions(path: Path = QUESTIONS) -> list[dict[str, Any]]:
    """The questions, one dictionary a line of the file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def quoted_titles(questions: list[dict[str, Any]]) -> list[str]:
    """Titles of the articles that are quoted, sorted, each once."""
    return sorted({evidence["title"] for question in questions for evidence in question["evidence"]})


def counts_table(questions: list[dict[str, Any]]) -> str:
    """Markdown table: questions by type (rows) and split (columns)."""
    counts = Counter((question["type"], question["split"]) for question in questions)
    lines = ["| type | " + " | ".join(SPLITS) + " | all |", "|---|" + "---|" * (len(SPLITS) + 1)]
    for kind in TYPES:
        numbers = [counts[kind, split] for split in SPLITS]
        lines.append(f"| {kind} | " + " | ".join(str(number) for number in [*numbers, sum(numbers)]) + " |")
    totals = [sum(counts[kind, split] for kind in TYPES) for split in SPLITS]
    lines.append("| all | " + " | ".join(str(number) for number in [*totals, sum(totals)]) + " |")
    return "\n".join(lines)


def notice_line(page: Page) -> str:
    """One article of the notice."""
    address = f"https://en.wikipedia.org/w/index.php?oldid={page.revision_id}"
    return f"{page.title} | {page.revision_id} | {str(page.revision_time)[:10]} | {address}"


def make_notice(titles: list[str], dump: Path) -> str:
    """The text of the notice. Raises KeyError when the dump has no page of one of the titles."""
    wanted = set(titles)
    pages = {page.title: page for page in iter_pages(dump) if page.title in wanted}
    return HEAD.format(dump=dump.name) + "".join(notice_line(pages[title]) + "\n" for title in titles)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the notice of the articles that are quoted.")
    parser.add_argument("--counts", action="store_true", help="print the table of README.md, write nothing")
    arguments = parser.parse_args()
    questions = read_questions()
    if arguments.counts:
        print(counts_table(questions))
        return
    titles = quoted_titles(questions)
    NOTICE.write_text(make_notice(titles, Path(sample_dump_path())), encoding="utf-8")
    print(f"{NOTICE.name}: {len(titles)} articles")


if __name__ == "__main__":
    main()
