"""Asset checks: each quality rule of a released table, blocking what would be made from bad rows.

What belongs here: the check specs, one multi-asset check a table, and what a check says in the UI. What
does not: rules, frames and Great Expectations (`assets/quality`). All rules of a table are judged in one
step, at the table's newest version: the build lock keeps it still until the release pins it.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from assets.metadata import markdown_table, plain
from assets.quality.rules import ROWS_RULE, inputs_of, rule_meaning, rule_names, tolerant_rules
from assets.quality.validation import (
    RuleResult,
    build_data_docs,
    check_table,
    data_docs_folder,
    passed_before,
)
from assets.resources import SparkOnDemand
from assets.stages import stage
from pipelines.build_options import load_build_options
from pipelines.errors import EspalierError, RunFailure, UserError, argument
from pipelines.locking import Holder
from pipelines.schemas import RELEASED_TABLES
from pipelines.settings import DataFolder, Profile, profile_by_name
from pipelines.storage import open_table

FIRST_ROWS = 3
"""Failing rows that a message names; a check keeps more."""


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
            seen = passed_before(data, table, versions, profile.tolerances)
            results = seen or _judge(table, data, profile, spark, versions)
            failed = [result for result in results if not result.passed]
            event.facts.update(rules=len(results), version=versions[table], changed=seen is None,
                               failed=[result.rule for result in failed],
                               failures=failed)
        if failed:
            error = check_failure(table, failed, data)
            context.log.error(str(error))
        for result in results:
            yield dg.AssetCheckResult(
                check_name=result.rule, asset_key=table, passed=result.passed,
                description=None if result.passed else f"{failure_message(result)}. {error.next_step}",
                metadata={**failing_rows(result), "table_version": versions[table], "judged_now": seen is None,
                          "data_docs": dg.MetadataValue.url((data_docs_folder(data) / "index.html").as_uri())})

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
    """What is wrong: the rule, how many rows break it and may, and the first of them by name."""
    if result.rule == ROWS_RULE:
        return f"rule {ROWS_RULE}: the table is empty"
    rows = "; ".join(", ".join(f"{key}={value}" for key, value in row.items()) for row in result.rows[:FIRST_ROWS])
    allowed = f"a share of {result.tolerance:.4g}" if result.tolerance else "none"
    return (f"rule {result.rule}: {result.n_failing:,} of {result.n_rows:,} rows fail, {allowed} may"
            f"{f' ({rows})' if rows else ''}")


def way_out(table: str, failures: Sequence[RuleResult], data: DataFolder) -> str:
    """What helps when rules of a released table fail."""
    build = f"espalier build --data {data.root}"
    chosen = [f"{result.rule}={_share(result)}" for result in failures if result.rule in tolerant_rules()]
    if len(chosen) < len(failures):
        return remake(data, table)
    return (f"Give newer revisions of the pages, `{build} --wikipedia FILE`, or accept the rows: "
            f"`{build} --tolerate {' '.join(chosen)}`.")


def _share(result: RuleResult) -> str:
    """The smallest share in thousandths that lets a result pass."""
    return f"{math.ceil(1000 * result.n_failing / max(1, result.n_rows)) / 1000:g}"


def remake(data: DataFolder, table: str) -> str:
    """How a table that is wrong is made again: what is derived is derived anew."""
    if table in ("pages", "dump_files"):
        return "Move the data folder away and build from the dumps again."
    return f"Remove the folder {data.table(table)} and run again: the table is made anew."


def check_failure(table: str, failures: Sequence[RuleResult], data: DataFolder) -> EspalierError:
    """The error of a run that a check has stopped."""
    served = "The served release is unchanged."
    if [result.rule for result in failures] == [ROWS_RULE]:
        namespaces = load_build_options(data).apply(profile_by_name()).namespaces
        return UserError(
            "dump files", "no article with text in these files", "pages with words in "
            f"{'one of the namespaces' if len(namespaces) > 1 else 'namespace'} {', '.join(map(str, namespaces))}",
            f"Nothing was published. {served} Build from a dump that has them, {argument('wikipedia', 'FILE')}, or "
            f"of other namespaces, {argument('namespaces', 'NUMBER')}.")
    return RunFailure(
        f"table {table}", "; ".join(map(failure_message, failures)), "rows that keep every rule",
        f"{way_out(table, failures, data)} {served} All rows: {data_docs_folder(data)}/index.html.")


def failing_rows(result: RuleResult) -> dict[str, Any]:
    """Metadata of a check: how many rows break the rule and may, and those that are named."""
    told = {"rows": result.n_rows, "failing_rows": result.n_failing, "tolerance": result.tolerance}
    if not result.rows:
        return told
    header = list(result.rows[0])
    first = [{name: plain(value) for name, value in row.items()} for row in result.rows[:FIRST_ROWS]]
    return {**told, "first_rows": dg.MetadataValue.json(first), "named_rows": dg.MetadataValue.md(
        markdown_table(header, ([row.get(name) for name in header] for row in result.rows)))}


default_checks = [checks_of(table) for table in RELEASED_TABLES]
