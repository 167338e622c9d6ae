"""What a build shows, and that nothing else gets onto the screen."""

import io
import os
import subprocess
import sys
import textwrap
from pathlib import Path

from assets.stages import StageEvent
from jobs.progress import Progress, describe


def test_each_kind_of_stage_is_described_by_what_matters() -> None:
    tables = {"tree_nodes": {"rows": 12345, "changed": 3}, "documents": {"rows": 106, "changed": 1}}
    assert describe(StageEvent("trees", "done", 2.04, tables)) == \
        "tree_nodes 12,345 rows, 3 changed; documents 106 rows, 1 changed (2.0 s)"
    checks = {"rules": 5, "failed": [], "changed": True}
    assert describe(StageEvent("units checks", "done", 1, checks)) == "5 rules hold (1.0 s)"
    assert describe(StageEvent("units checks", "done", 1, checks | {"changed": False})) == \
        "5 rules hold, as before (1.0 s)"
    assert describe(StageEvent("units checks", "done", 1, checks | {"failed": ["a", "b"]})) == \
        "failed: a, b (1.0 s)"
    assert describe(StageEvent("release", "done", 1, {"release": 2, "published": False})) == \
        "2 is still right (1.0 s)"
    assert describe(StageEvent("pages", "failed", 3)) == "failed after 3.0 s"


def test_elsewhere_than_on_a_terminal_there_is_one_line_a_stage() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress(StageEvent("units"))
    progress(StageEvent("units", "done", 1, {"units": {"rows": 1, "changed": 0}}))
    assert stream.getvalue()[9:] == "units: units 1 rows, 0 changed (1.0 s)\n"


def test_what_libraries_and_child_processes_write_goes_to_the_log(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from jobs.progress import own_screen
        with own_screen(Path(sys.argv[1])) as screen:
            print("python noise"); print("python noise", file=sys.stderr)
            os.write(1, b"native noise\\n"); os.system("echo child noise >&2")
            print("progress", file=screen, flush=True)
        print("result")
        print("after", file=sys.stderr)
    """)
    log = tmp_path / "state" / "build.log"
    answer = subprocess.run([sys.executable, "-c", script, str(log)], capture_output=True, text=True,
                            check=True, env=os.environ)
    assert answer.stdout == "result\n"
    assert answer.stderr == "progress\nafter\n"
    assert sorted(log.read_text().split("\n")) == \
        ["", "child noise", "native noise", "python noise", "python noise"]
