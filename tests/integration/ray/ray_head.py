"""A Ray cluster of one node, started as an administrator would: `ray start --head`.

What belongs here: starting it in a process group of its own and ending exactly that group. `ray stop` is not
used, for it ends every Ray on the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

START_S, STOP_S = 90, 40


@contextmanager
def ray_head(**variables: str) -> Iterator[str]:
    """The cluster's address, for RAY_ADDRESS; its ports are the system's choice.

    variables: of its environment, beside this process's.
    """
    # Not pytest's folder: Ray makes sockets in it, whose paths may have 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="ray-"))
    log = folder / "start.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--port=0", "--num-cpus=2",
             "--include-dashboard=false", "--disable-usage-stats", f"--object-store-memory={128 << 20}",
             f"--temp-dir={folder}"], stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            env={key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
            | variables)
    try:
        yield _address(log)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _address(log: Path) -> str:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        text = log.read_text(errors="replace")
        if "block forever" in text and (match := re.search(r"--address='([\d.]+:\d+)'", text)):
            return match[1]
        time.sleep(0.2)
    raise TimeoutError(f"no Ray within {START_S} s:\n{log.read_text(errors='replace')[-2000:]}")
