"""Make the pictures of docs/images from a built data folder: the asset graph and the comparison report.

`python docs/screenshots.py --data data/demo` (after `make demo`) starts Dagster's web server on a free
port of localhost, and takes both pictures with a headless Chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from jobs.instance import instance_environment, place_instance
from pipelines.settings import DataFolder

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
START_LIMIT_S = 120
OPEN_GROUPS = ("corpus", "indexes")
"""With all groups open the graph no longer fits a readable picture."""
BROWSER_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--hide-scrollbars", "--disable-background-networking", "--disable-component-update", "--disable-sync",
)


def find_browser() -> str | None:
    """Path of Chromium or Chrome, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def take_picture(url: str, target: Path, *, width: int, height: int, wait_ms: int = 20_000) -> None:
    """Write a PNG of `url`. `wait_ms` of the page's own time pass first. Raises CalledProcessError."""
    browser = find_browser()
    if browser is None:
        raise FileNotFoundError("no chromium on PATH. On Debian: apt-get install chromium")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [browser, *BROWSER_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}",
             f"--virtual-time-budget={wait_ms}", f"--screenshot={target}", url],
            check=True, stderr=subprocess.DEVNULL, timeout=180,
        )


@contextmanager
def dagster_webserver(data: DataFolder) -> Iterator[str]:
    """Serve this checkout's definitions over `data` on a free port of localhost; yields the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place_instance(data)
    environment = os.environ | instance_environment(data)
    server = subprocess.Popen(
        [str(Path(sys.executable).with_name("dagster-webserver")), "-w", str(ROOT / "workspace.yaml"),
         "-h", "127.0.0.1", "-p", str(port)],
        env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                urllib.request.urlopen(f"{address}/server_info", timeout=5).close()
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(1)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="data/demo", help="a built and evaluated data folder")
    parser.add_argument("--out", type=Path, default=IMAGES, help="folder of the pictures")
    arguments = parser.parse_args()
    data = DataFolder.at(arguments.data)
    reports = sorted(Path(data.reports).glob("**/*.html"), key=lambda path: path.stat().st_mtime)
    if not reports:
        parser.error(f"{data.reports} has no report. Run make demo first.")
    # The graph opens with its groups closed; ids in the address open some.
    groups = ",".join(f"global@global:{name}" for name in OPEN_GROUPS)
    with dagster_webserver(data) as address:
        take_picture(f"{address}/asset-groups?expanded={quote(groups)}", arguments.out / "asset_graph.png",
                     width=2400, height=1100)
    take_picture(reports[-1].as_uri(), arguments.out / "report.png", width=1400, height=1500, wait_ms=5_000)
    print(f"wrote {arguments.out}/asset_graph.png and {arguments.out}/report.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
