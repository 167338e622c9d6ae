"""Judging a candidate's tables with Great Expectations, and its Data Docs.

What belongs here: suites built from the rules, validation of a fault frame, failing rows by name, what was
already found good, and the pages of Data Docs. What does not: the rules (`rules.py`), how they are computed
(`frames.py`), Dagster (`assets/checks.py`). Great Expectations is imported when something has to be judged,
sends nothing home, and keeps suites and results in the state folder, Data Docs in the data folder. A table
that passed at the same versions under the same rules is not judged again.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assets.quality.rules import (
    KEY_RULE,
    ROWS_RULE,
    TABLE_RULES,
    inputs_of,
    rule_meaning,
    rule_names,
    rules_sha256,
)
from pipelines import files
from pipelines.schemas import TABLES
from pipelines.settings import DataFolder

if TYPE_CHECKING:
    from assets.quality.frames import Candidate

JUDGED_HERE = 100_000
"""Rows of a fault frame up to which it is judged in this process, where Spark would take seconds for each rule."""
NAMED_ROWS = 20
"""Failing rows that a check names."""
KEPT_RESULTS = 5
"""Results of a table that Data Docs shows, the newest ones."""


@dataclass(frozen=True)
class RuleResult:
    """Whether a rule holds. rows: failing rows, key columns first and then what was found (at most 20).

    tolerance: the share of the rows that may break it.
    """

    rule: str
    passed: bool
    n_rows: int
    n_failing: int
    rows: list[dict[str, Any]]
    tolerance: float = 0.0


def passed_before(data: DataFolder, table: str, versions: Mapping[str, int],
                  tolerances: Mapping[str, float]) -> list[RuleResult] | None:
    """The results of the last check of a table, if it passed and nothing that it read has changed since."""
    try:
        seen = files.read_json(_record(data, table))
    except (FileNotFoundError, ValueError):
        return None
    if seen["rules_sha256"] != rules_sha256(table) or seen["versions"] != _pinned(table, versions) \
            or seen.get("tolerances", {}) != tolerances:
        return None
    return [RuleResult(**result) for result in seen["results"]]


def check_table(table: str, candidate: Candidate) -> list[RuleResult]:
    """Judge one table of a candidate by all its rules; remember it when it passes.

    Raises KeyError when the candidate does not pin a table that the rules read.
    """
    from assets.quality.frames import fault_frame

    frame = fault_frame(table, candidate).persist()
    try:
        results = _validate(candidate.data, table, frame, candidate.profile.tolerances)
    finally:
        frame.unpersist()
    if all(result.passed for result in results):
        files.write_json(_record(candidate.data, table), {
            "rules_sha256": rules_sha256(table), "versions": _pinned(table, candidate.versions),
            "tolerances": candidate.profile.tolerances, "results": [asdict(result) for result in results]})
    return results


def build_data_docs(data: DataFolder) -> str:
    """Build the pages of Data Docs unless nothing was judged since; return the path of their first page."""
    home = data_docs_folder(data)
    if _docs_are_stale(data).exists():
        shutil.rmtree(home, ignore_errors=True)
        _context(data).build_data_docs()
        _docs_are_stale(data).unlink(missing_ok=True)
    return str(home / "index.html")


def data_docs_folder(data: DataFolder) -> Path:
    """Where Data Docs lie: in the data folder, or in the state folder when that is on an object store."""
    return data.state / "data_docs" if files.is_remote(data.root) else Path(data.data_docs)


def _validate(data: DataFolder, table: str, frame: Any, tolerances: Mapping[str, float]) -> list[RuleResult]:
    suite = build_suite(table, _most(_spared_shares(table, frame), tolerances))
    if frame.count() <= JUDGED_HERE:
        rows = frame.toPandas().astype(object)
        return validate(data, table, suite, TABLES[table].key, rule_names(table),
                        lambda sources: sources.add_pandas("candidate"), rows.where(rows.notna(), None))
    return validate(data, table, suite, TABLES[table].key, rule_names(table),
                    lambda sources: sources.add_spark("candidate", persist=False), frame)


def validate(data: DataFolder, name: str, suite: Any, key: Sequence[str], rules: Sequence[str],
             add_source: Callable[[Any], Any], frame: Any) -> list[RuleResult]:
    """Validate a frame by a suite whose expectations name their rule, and keep the result for Data Docs.

    key: columns that name a row. rules: in the order of the results. add_source: makes the data source of the
    frame's engine.
    """
    _forget_old_results(_home(data) / "validations" / name)
    gx, context = great_expectations(), _context(data)
    stored = context.suites.add_or_update(suite)
    asset = add_source(context.data_sources).add_dataframe_asset(name)
    definition = context.validation_definitions.add_or_update(gx.ValidationDefinition(
        name=name, data=asset.add_batch_definition_whole_dataframe("all_rows"), suite=stored))
    outcome = definition.run(batch_parameters={"dataframe": frame}, result_format={
        "result_format": "COMPLETE", "unexpected_index_column_names": list(key),
        "return_unexpected_index_query": False, "partial_unexpected_count": NAMED_ROWS})
    _docs_are_stale(data).touch()
    by_rule = {result.expectation_config.meta["rule"]: result for result in outcome.results}
    return [_rule_result(rule, key, by_rule[rule]) for rule in rules]


def _spared_shares(table: str, frame: Any) -> dict[str, float]:
    """Rule → share of the rows that break it, for rules that so few documents break that it holds nothing back."""
    shares: dict[str, float] = {}
    for rule in TABLE_RULES[table].rules:
        if rule.spared_documents:
            failing = frame.where(f"`{rule.name}` IS NOT NULL")
            if failing.select("doc_id").distinct().count() <= rule.spared_documents:
                # Half a row more, so that no rounding decides.
                shares[rule.name] = (failing.count() + 0.5) / max(1, frame.count())
    return shares


def _most(*shares: Mapping[str, float]) -> dict[str, float]:
    rules = {rule for each in shares for rule in each}
    return {rule: max(each.get(rule, 0.0) for each in shares) for rule in rules}


def build_suite(table: str, spared: Mapping[str, float] | None = None) -> Any:
    """The `ExpectationSuite` of a table: emptiness and key from its schema, the rest from its rules.

    spared: rule → share of the rows that may break it, where that is more than the rule's own tolerance.
    """
    gx = great_expectations()
    gxe = gx.expectations

    def described(rule: str) -> dict[str, Any]:
        return {"meta": {"rule": rule}, "description": rule_meaning(table, rule)}

    key = list(TABLES[table].key)
    expectations = [
        gxe.ExpectColumnValuesToBeUnique(column=key[0], **described(KEY_RULE)) if len(key) == 1
        else gxe.ExpectCompoundColumnsToBeUnique(column_list=key, **described(KEY_RULE)),
        *(gxe.ExpectColumnValuesToBeNull(
            column=rule.name, mostly=1 - max(rule.tolerance, (spared or {}).get(rule.name, 0.0)),
            **described(rule.name)) for rule in TABLE_RULES[table].rules)]
    if ROWS_RULE in rule_names(table):
        expectations.insert(0, gxe.ExpectTableRowCountToBeBetween(min_value=1, **described(ROWS_RULE)))
    return gx.ExpectationSuite(table, expectations=expectations)


def _rule_result(rule: str, key: Sequence[str], outcome: Any) -> RuleResult:
    found = outcome.result
    if outcome.exception_info.get("raised_exception"):
        raise RuntimeError(f"rule {rule} cannot be judged: {outcome.exception_info['exception_message']}")
    if rule == ROWS_RULE:
        n_rows = int(found["observed_value"])
        return RuleResult(rule, outcome.success, n_rows, 0 if outcome.success else 1, [])
    # Engines differ in whether the key stands first.
    rows = [{**{name: row[name] for name in key}, **row}
            for row in (found.get("unexpected_index_list") or [])[:NAMED_ROWS]]
    # Sums over an empty table are null.
    n_rows, n_failing = int(found["element_count"] or 0), int(found["unexpected_count"] or 0)
    tolerance = round(1 - outcome.expectation_config.kwargs.get("mostly", 1.0), 9)
    return RuleResult(rule, outcome.success, n_rows, n_failing, rows, tolerance)


def great_expectations() -> Any:
    """The library, imported so that it sends nothing home and survives in every process.

    It looks for Spark Connect, and PySpark takes a process whose main module has no file for a doctest and
    ends it. A process that Dagster starts for a run is such a one: while the import lasts it has a file.
    """
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    main = sys.modules["__main__"]
    has_file = hasattr(main, "__file__")
    if not has_file:
        main.__file__ = ""
    try:
        import great_expectations
        import great_expectations.expectations
    finally:
        if not has_file:
            del main.__file__
    return great_expectations


def _context(data: DataFolder) -> Any:
    """A Great Expectations context with its stores in the state folder."""
    gx = great_expectations()
    from great_expectations.data_context.types.base import DataContextConfig

    def folder(path: Path) -> dict[str, Any]:
        return {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(path)}

    home, in_memory = _home(data), {"class_name": "InMemoryStoreBackend"}
    return gx.get_context(mode="ephemeral", project_config=DataContextConfig(
        analytics_enabled=False,
        stores={
            "expectations_store": {"class_name": "ExpectationsStore",
                                   "store_backend": folder(home / "expectations")},
            "validation_results_store": {"class_name": "ValidationResultsStore",
                                         "store_backend": folder(home / "validations")},
            "checkpoint_store": {"class_name": "CheckpointStore", "store_backend": in_memory},
            "validation_definition_store": {"class_name": "ValidationDefinitionStore",
                                            "store_backend": in_memory},
        },
        expectations_store_name="expectations_store",
        validation_results_store_name="validation_results_store",
        checkpoint_store_name="checkpoint_store",
        data_docs_sites={"data_docs": {
            "class_name": "SiteBuilder", "show_how_to_buttons": False,
            "store_backend": folder(data_docs_folder(data)),
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"}}},
        progress_bars={"globally": False, "metric_calculations": False}))


def _forget_old_results(validations: Path) -> None:
    """Leave room for one more result of a table: Data Docs renders all that it finds.

    They are named by time: the one that comes stays, even if the clock has gone back since the others.
    """
    runs = sorted((run for run in validations.glob("*/*") if run.is_dir()), key=lambda run: run.name)
    for old in runs[:max(0, len(runs) - KEPT_RESULTS + 1)]:
        shutil.rmtree(old)


def _pinned(table: str, versions: Mapping[str, int]) -> dict[str, int]:
    return {name: versions[name] for name in inputs_of(table)}


def _home(data: DataFolder) -> Path:
    home = data.state / "great_expectations"
    home.mkdir(parents=True, exist_ok=True)
    return home


def _record(data: DataFolder, table: str) -> str:
    return f"{data.stages}/checked_{table}.json"


def _docs_are_stale(data: DataFolder) -> Path:
    return _home(data) / "docs_are_stale"
