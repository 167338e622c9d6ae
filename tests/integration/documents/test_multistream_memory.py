"""A multistream dump of any length is hashed, divided and read in the memory of a short one."""

from __future__ import annotations

import bz2
import random
import subprocess
import sys
from pathlib import Path

PEAK = """
import resource, sys
from collections import deque
from pipelines.documents.readers.dump import iter_pages
from pipelines.documents.readers.dump_end import missing_end
from pipelines.documents.readers.multistream import split_borders
from pipelines.dump_files import describe_dump_file
path = sys.argv[1]
describe_dump_file(path)
assert missing_end(path) is None
starts = split_borders(path, 4 << 20).offsets
deque(iter_pages(path, start=starts[0], end=starts[1] if len(starts) > 1 else None), maxlen=0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Hashing, the look at the end, dividing and reading one part of 8 MiB and of 128 MiB."""
    letters = random.Random(1)
    pages = "".join(f"<page><title>P</title><ns>0</ns><id>{n}</id><revision><id>1</id>"
                    f"<text>{letters.randbytes(20_000).hex()}</text></revision></page>" for n in range(1, 41))
    stream = bz2.compress(pages.encode())
    peaks = []
    for n_bytes in (8 << 20, 128 << 20):
        path = tmp_path / f"{n_bytes}.bz2"
        with path.open("wb") as file:
            file.write(bz2.compress(b"<mediawiki>"))
            for _ in range(n_bytes // len(stream)):
                file.write(stream)
            file.write(bz2.compress(b"</mediawiki>"))
        done = subprocess.run([sys.executable, "-c", PEAK, str(path)], check=True, stdout=subprocess.PIPE)
        peaks.append(int(done.stdout))
        path.unlink()
    assert peaks[1] < peaks[0] + (8 << 20)
