"""Which pages the table `pages` has just so already: their texts need not travel from the reader to Spark.

What belongs here: a number for what decides between two copies of a page, and the sorted numbers of a table. What
does not: the decision itself (`pages.py`), which is made by the values; a page that is known here can only lose it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipelines.deletion_vectors import live_rows
from pipelines.settings import DataFolder
from pipelines.storage import TableReader, sql_in, table_exists

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS = ("doc_id", "revision_id", "revision_time", "content_sha256", "title", "namespace", "redirect_to",
           "content_model")
MOST_PAGES = 8_000_000
"""Every worker holds 8 bytes of each."""
BYTES_A_PAGE = 40
"""Looking up what the table has of one page costs about as much as sending the text of so many compressed bytes."""


@dataclass(frozen=True)
class KnownPages:
    """fingerprints: sorted, of every page of the table."""

    fingerprints: NDArray[np.uint64]

    def has(self, page: Mapping[str, Any]) -> bool:
        """Whether the table has this row of `pages`, but for the file that it came from."""
        place = int(self.fingerprints.searchsorted(number := _fingerprint(page[name] for name in COLUMNS)))
        return place < len(self.fingerprints) and self.fingerprints[place] == number


def _fingerprint(values: Iterable[Any]) -> np.uint64:
    import numpy as np

    # Of one moment in UTC each library has an object of another class.
    written = tuple(value.timestamp() if isinstance(value, datetime) else value for value in values)
    digest = hashlib.blake2b(repr(written).encode(errors="surrogatepass"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def read_known_pages(data: DataFolder, wikis: Iterable[str], dump_bytes: int) -> KnownPages | None:
    """The pages that the table has of these wikis; None where knowing them is not worth it.

    dump_bytes: size of the files to be read. Raises RunFailure when the table cannot be read.
    """
    import numpy as np

    if not table_exists(data, "pages"):
        return None
    reader = TableReader(data)
    n_pages = live_rows(reader.table("pages"), data.table("pages"))
    if not 0 < n_pages <= min(MOST_PAGES, dump_bytes // BYTES_A_PAGE):
        return None
    numbers = np.fromiter((_fingerprint(values)
                           for batch in reader.batches("pages", COLUMNS, sql_in("wiki", sorted(set(wikis))))
                           for values in zip(*(batch.column(name).to_pylist() for name in COLUMNS), strict=True)),
                          np.uint64)
    numbers.sort()
    return KnownPages(numbers)
