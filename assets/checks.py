"""Asset checks: each quality rule of a released table, blocking what would be made from bad rows.

What belongs here: the check specs, one multi-asset check a table, and what a check says in the UI. What
does not: rules, frames and Great Expectations (`assets/quality`). All rules of a table are judged in one
step, at the table's newest version: the build lock keeps it still until the release pins it.
"""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from assets.metadata import markdown_table
from assets.quality.rules import ROWS_RULE, inputs_of, rule_meaning, rule_names
from assets.quality.validation import (
    RuleResult,
    build_data_docs,
    check_table,
    data_docs_folder,
    passed_before,
)
from assets.resources import SparkOnDemand
from assets.stages import stage
from pipelines.errors import RunFailure
from pipelines.locking import Holder
from pipelines.schemas import RELEASED_TABLES
from pipelines.settings import DataFolder, Profile
from pipelines.storage import open_table


def checks_of(table: str) -> dg.AssetChecksDefinition:
    """The blocking checks of one table, judged together."""

    @dg.multi_asset_check(
        name=f"{table}_quality",
        description=f"Great Expectations suite of {table}: keys, relations and text.",
        specs=[dg.AssetCheckSpec(name, asset=table, blocking=True, description=rule_meaning(table, name))
               for name in rule_names(table)])
    def quality(context: dg.AssetCheckExecutionContext, data: dg.ResourceParam[DataFolder],
                profile: dg.ResourceParam[Profile], spark: dg.ResourceParam[SparkOnDemand],
                lock: dg.ResourceParam[Holder]) -> Iterator[dg.AssetCheckResult]:
        with stage(f"{table} checks") as event:
            versions = {name: int(open_table(data, name).version()) for name in inputs_of(table)}
            seen = passed_before(data, table, versions)
            results = seen or _judge(table, data, profile, spark, versions)
            failed = [result for result in results if not result.passed]
            event.facts.update(rules=len(results), version=versions[table], changed=seen is None,
                               failed=[result.rule for result in failed],
                               failures=[failure_message(result) for result in failed])
        for result in results:
            if not result.passed:
                context.log.error(f"table {table}, {failure_message(result)}")
            yield dg.AssetCheckResult(
                check_name=result.rule, asset_key=table, passed=result.passed,
                description=None if result.passed else failure_message(result),
                metadata={"table_version": versions[table], "rows": result.n_rows,
                          "failing_rows": result.n_failing, "judged_now": seen is None,
                          "data_docs": dg.MetadataValue.url((Path(data_docs_folder(data)) / "index.html").as_uri()),
                          **({"named_rows": dg.MetadataValue.md(named_rows(result))} if result.rows else {})})

    return quality


def _judge(table: str, data: DataFolder, profile: Profile, spark: SparkOnDemand,
           versions: dict[str, int]) -> list[RuleResult]:
    from assets.quality.frames import Candidate

    results = check_table(table, Candidate(spark.session, data, profile, versions))
    if not all(result.passed for result in results):
        # The run ends here; a run that goes on builds the pages once, before its release.
        build_data_docs(data)
    return results


def failure_message(result: RuleResult) -> str:
    """What is wrong, with the first failing rows by name."""
    if result.rule == ROWS_RULE:
        return f"rule {ROWS_RULE}: the table is empty"
    rows = "; ".join(", ".join(f"{key}={value}" for key, value in row.items()) for row in result.rows[:3])
    return (f"rule {result.rule}: {result.n_failing} of {result.n_rows} rows fail"
            f"{f' ({rows})' if rows else ''}")


def check_failure(table: str, failures: list[str], data: DataFolder) -> RunFailure:
    """The error of a run that a check has stopped."""
    return RunFailure(
        f"table {table}", "; ".join(failures), "rows that keep every rule",
        f"See {data_docs_folder(data)}/index.html. The served release is unchanged.")


def named_rows(result: RuleResult) -> str:
    """The failing rows that a result names, as a Markdown table."""
    header = list(result.rows[0])
    return markdown_table(header, ([row.get(name) for name in header] for row in result.rows))


default_checks = [checks_of(table) for table in RELEASED_TABLES]
