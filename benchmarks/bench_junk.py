"""What becomes of 250 junk dumps, each built beside a good one.

Each is given to `espalier build` with a good dump: by default in this process, through the same function that the
command calls; the first few (`--processes`) in processes of their own. Counted: published, published with rejects,
refused with one line (exit 2), failed with one line (exit 1), traceback, and wrong: the good pages are not all in
the table, or a text in it is in neither dump. `--read-only` reads the junk alone, without Spark, in a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.junk_dumps import good_dump, junk_dumps
from pipelines.documents.readers.dump import PageFault, iter_pages
from pipelines.documents.readers.dump_end import missing_end
from pipelines.errors import UserError
from pipelines.settings import DataFolder
from pipelines.storage import TableReader

GOOD_WIKI, N_GOOD = "goodwiki", 3


def read(path: Path) -> str:
    """What the reader alone makes of a dump."""
    faults: list[PageFault] = []
    try:
        if cut := missing_end(str(path)):
            raise cut
        pages = list(iter_pages(path, reject=faults.append))
    except UserError as error:
        return "refused" if "\n" not in str(error) else "more than one line"
    except Exception as error:  # noqa: BLE001 - every kind is a finding
        return f"traceback ({type(error).__name__})"
    return "read with rejects" if faults or any(page.verified is False for page in pages) else "read"


def build(folder: Path, junk: Path, good: Path, *, own_process: bool) -> str:
    """What `espalier build` makes of a junk dump beside a good one."""
    data = folder / "data"
    command = ["build", "--data", str(data), "--wikipedia", str(junk), str(good)]
    if own_process:
        done = subprocess.run([sys.executable, "-m", "jobs.cli", *command], capture_output=True, text=True,
                              check=False, timeout=600)
        code, said = done.returncode, done.stderr
    else:
        from jobs.cli import main as espalier

        with contextlib.redirect_stderr(io.StringIO()) as stderr, contextlib.redirect_stdout(io.StringIO()):
            code = espalier(command)
        said = stderr.getvalue()
    lines = [line for line in said.splitlines() if line.startswith("espalier: ")]
    if "Traceback" in said or (code and not lines):
        return "traceback"
    rows = TableReader(DataFolder.at(str(data))).rows("pages", ("wiki",))
    if sum(row["wiki"] == GOOD_WIKI for row in rows) != N_GOOD:
        return "wrong: good pages lost"
    rejected = bool(TableReader(DataFolder.at(str(data))).rows("rejects", ("reason",))) if code == 0 and (
        data / "rejects").exists() else False
    said_of = {0: "published with rejects" if rejected else "published", 1: "failed", 2: "refused"}
    return said_of.get(code, f"exit {code}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dumps", type=int, default=250)
    parser.add_argument("--processes", type=int, default=5, help="dumps that are built in processes of their own")
    parser.add_argument("--read-only", action="store_true", help="read the junk alone, without Spark")
    chosen = parser.parse_args()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        for number, (name, content) in enumerate(junk_dumps(chosen.seed, chosen.dumps)):
            folder = Path(place, str(number))
            folder.mkdir()
            junk, good = folder / name, folder / "good.xml"
            junk.write_bytes(content)
            good.write_bytes(good_dump(N_GOOD, GOOD_WIKI))
            outcome = read(junk) if chosen.read_only else build(folder, junk, good,
                                                                own_process=number < chosen.processes)
            outcomes[outcome] += 1
            print(f"{name:40} {outcome}", flush=True)
    for outcome, n in outcomes.most_common():
        print(f"{n:4} {outcome}")
    return int(any(outcome.startswith(("traceback", "wrong", "exit", "more")) for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
