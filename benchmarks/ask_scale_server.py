"""One open corpus behind standard input: asks, looks up, opens again, and says what each step took.

What belongs here: the measured side of `bench_ask_scale.py`, which starts one such process a corpus and asks them
in turn. What does not: questions and tables of results. A command is a line of JSON, and so is its answer. Steps
are timed by wrapping the very methods that `ReleasedCorpus` calls; what it kept of a question is dropped before the
next one.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from pipelines.api import Corpus
from pipelines.retrieval.corpus import ReleasedCorpus, _Recent
from pipelines.storage import TableReader

KEY_COLUMNS = {"documents": "doc_id", "tree_nodes": "doc_id", "sentences": "doc_id", "units": "unit_id"}
PAYLOAD = {"documents": "uri", "tree_nodes": "text", "sentences": "text", "units": "text"}
_UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


class Server:
    """An opened corpus whose steps are timed."""

    def __init__(self, folder: str) -> None:
        self.corpus = Corpus.open(folder)
        released = self.corpus.retrieval
        assert isinstance(released, ReleasedCorpus)
        self.released = released
        self.spent: dict[str, float] = defaultdict(float)
        self.read: set[str] = set()
        self._time(released.encoder, "encode", "encode")
        self._time(released._dense, "search", "dense search")
        self._time(released._sparse, "search", "sparse search")
        self._time(released, "_load_units", "read units")
        self._time(released, "_load_sentences", "read sentences", counts=True)
        self._time(released, "_load_documents", "read trees", counts=True)
        rows = released.reader.rows("documents", ("doc_id",), order_by=("doc_id",))
        self.doc_ids = [row["doc_id"] for row in rows]

    def _time(self, owner: Any, name: str, step: str, counts: bool = False) -> None:
        call: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            result = call(*args, **kwargs)
            self.spent[step] += time.perf_counter() - begin
            if counts:
                self.read |= set(result)
            return result

        setattr(owner, name, timed)

    def ask(self, method: str, question: str) -> dict[str, float]:
        """ms by step, `other` what is left of the total.

        documents: those whose tree or sentences were read; a document: ms that reading took for each of them.
        """
        self.spent.clear()
        self.read.clear()
        for kept in vars(self.released).values():
            if isinstance(kept, _Recent):
                kept._values.clear()
        begin = time.perf_counter()
        self.corpus.ask(question, method)
        total = time.perf_counter() - begin
        steps = {step: 1000 * seconds for step, seconds in self.spent.items()}
        reading = sum(ms for step, ms in steps.items() if step.startswith("read "))
        return {**steps, "other": 1000 * total - sum(steps.values()), "total": 1000 * total,
                "documents": len(self.read), "a document": reading / max(len(self.read), 1)}

    def look_up(self, table: str, n: int, seed: int) -> dict[str, float]:
        """ms that n documents' rows took; bytes, files and rows of the key column that were read for that."""
        chosen = sorted(random.Random(f"{seed} {n}").sample(self.doc_ids, n))
        reader = self.released.reader
        columns = (KEY_COLUMNS[table], PAYLOAD[table])
        if table == "units":
            known = reader.rows_of_documents("units", ("unit_id", "doc_id"), chosen)
            wanted = sorted({row["doc_id"]: row["unit_id"] for row in known}.values())
        else:
            wanted = chosen
        begin = time.perf_counter()
        rows = (reader.rows_of_units if table == "units" else reader.rows_of_documents)(table, columns, wanted)
        ms = 1000 * (time.perf_counter() - begin)
        if not rows:
            raise ValueError(f"no rows of {table} for {wanted}")
        return {"ms": ms, **scanned(reader, table, columns, wanted)}

    def memory(self) -> dict[str, float]:
        """MiB resident: in all, of its own, and of mapped files (libraries, the encoder, indexes)."""
        with open("/proc/self/smaps_rollup") as file:
            sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in file if line.endswith("kB\n")}
        return {"resident": sizes["Rss"], "proportional (PSS)": sizes["Pss"], "own": sizes["Pss_Anon"],
                "of mapped files (PSS)": sizes["Pss_File"]}

    def open(self) -> dict[str, float]:
        """ms to open the release again: its file, each table's log, the indexes."""
        found = {}
        begin = time.perf_counter()
        corpus = Corpus.open(self.corpus.data).retrieval
        assert isinstance(corpus, ReleasedCorpus)
        found["release file"] = time.perf_counter() - begin
        for name in KEY_COLUMNS:
            begin = time.perf_counter()
            corpus.reader.table(name)
            found[f"table {name}"] = time.perf_counter() - begin
        for name in ("_dense", "_sparse"):
            begin = time.perf_counter()
            getattr(corpus, name)
            found[f"index {name[1:]}"] = time.perf_counter() - begin
        return {name: 1000 * seconds for name, seconds in found.items()}


def scanned(reader: TableReader, table: str, columns: tuple[str, ...], wanted: list[str]) -> dict[str, float]:
    """bytes, files and rows of the key column that a look-up reads, as the engine's EXPLAIN ANALYZE counts them."""
    sql = reader.lookup_sql(table, columns, KEY_COLUMNS[table], wanted)
    plan = "\n".join(value for batch in reader._execute(table, f"EXPLAIN ANALYZE {sql}")
                     for value in batch.column("plan").to_pylist())
    return {"bytes": _sum(plan, "bytes_scanned"), "files": _sum(plan, "files_opened"),
            "keys": _sum(plan, "predicate_cache_inner_records")}


def _sum(plan: str, metric: str) -> float:
    found = re.findall(rf"\b{metric}=([\d.]+) ?([KMGB]*)", plan)
    return sum(float(number) * _UNITS[unit] for number, unit in found)


def main() -> int:
    """Serve until standard input ends."""
    server = Server(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(server, request.pop("command"))(**request)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
