"""Write the figures of a dump into docs/audit.md: `python docs/audit_figures.py NAME FILE [--salvage]`.

NAME is that of a block in the page, between `<!-- figures NAME -->` and `<!-- end NAME -->`; what stands there is
the output of `espalier audit --dump FILE`, as it is. `sample` as FILE is the dump that the demo reads.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from jobs.cli import main as espalier
from pipelines.documents.readers.dump import sample_dump_path

PAGE = Path(__file__).resolve().parent / "audit.md"


def main(name: str, file: str, *options: str) -> int:
    """Audit the dump and replace the block. Returns the exit code."""
    dump = str(sample_dump_path()) if file == "sample" else file
    begin, end = f"<!-- figures {name} -->", f"<!-- end {name} -->"
    page = PAGE.read_text("utf-8")
    if begin not in page or end not in page:
        print(f"docs/audit.md: no block {name!r}; expected {begin} and {end}. Add them.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.md"
        code = espalier(["audit", "--dump", dump, "--out", str(out), *options])
        if code:
            return code
        figures = out.read_text("utf-8")
    before, rest = page.split(begin, 1)
    PAGE.write_text(f"{before}{begin}\n\n{figures}\n{end}{rest.split(end, 1)[1]}", "utf-8")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: python docs/audit_figures.py NAME FILE [--salvage]")
    sys.exit(main(*sys.argv[1:]))
