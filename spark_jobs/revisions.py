"""Which of two copies of a page stays, as Spark columns.

What belongs here: the order of copies, and what becomes of a page of a dump beside the one of the table. What does
not: reading and writing (`pages.py`).
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from pyspark.sql import Column
from pyspark.sql import functions as F

OLDER = "older"
"""Change of a page of which the table has a newer revision: none."""
_VALUES = ("has_text", "content_sha256", "title", "namespace", "redirect_to", "content_model")
"""Of a rank: what two copies of one revision may differ in."""
_NO_TIME = datetime(1, 1, 2, tzinfo=UTC)
_EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


def rank(verified: Column | None = None) -> Column:
    """What decides between two copies of a page, the higher one staying, whatever came first.

    The time, then the revision id, for imported old revisions have higher ids; then, of two copies of one revision,
    the one whose text has the dump's checksum (of the table's nobody knows), the one that has its text; then its
    content, for no better reason than that the order of reading must not matter. The text itself is not looked at,
    for that would read all of them: a page lacks it exactly where its content is that of an empty text.
    """
    return F.struct(
        F.coalesce("revision_time", F.lit(_NO_TIME)).alias("time"), F.col("revision_id"),
        _trust(F.lit(None).cast("boolean") if verified is None else verified).alias("trust"),
        (F.col("content_sha256") != _EMPTY_SHA256).alias("has_text"), F.col("content_sha256"), F.col("title"),
        F.col("namespace"), F.coalesce("redirect_to", F.lit("")).alias("redirect_to"),
        F.coalesce("content_model", F.lit("")).alias("content_model"))


def _trust(verified: Column) -> Column:
    return F.when(verified, 2).when(~verified, 0).otherwise(1)


def change() -> Column:
    """What `rank`, of a page of a dump, makes of the row with `old_rank`: insert, update, OLDER, or null.

    Of one revision a text with the dump's checksum replaces what the table has; one without never does.
    """
    def values(of: str, names: tuple[str, ...]) -> Column:
        return F.struct(*(F.col(f"{of}.{name}") for name in names))

    age, old_age = (values(of, ("time", "revision_id")) for of in ("rank", "old_rank"))
    differs = values("rank", _VALUES) != values("old_rank", _VALUES)
    return (F.when(F.col("old_rank").isNull(), "insert").when(age > old_age, "update").when(age < old_age, OLDER)
            .when((F.col("rank.trust") == 2) & differs, "update")
            .when((F.col("rank.trust") == 1) & (F.col("rank") > F.col("old_rank")), "update"))
