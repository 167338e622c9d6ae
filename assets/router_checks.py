"""Asset checks of what routers are trained on: leaked questions, and curated states and actions.

What belongs here: specs, and what a check says in the UI. What does not: rules, faults, Great Expectations
(`assets/quality`). All block: no router is trained on rows that break them, unless the plan allows leakage. They
are judged in the steps that make the rows (`routers.py`), for only these know which rows a training reads.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.checks import failing_rows, failure_message
from assets.quality.training_rules import TRAINING_RULES
from assets.quality.validation import RuleResult, build_data_docs, data_docs_folder
from assets.stages import StageEvent
from pipelines.settings import DataFolder


def training_check_specs(table: str) -> list[dg.AssetCheckSpec]:
    """The blocking checks of an asset's rows."""
    rules = TRAINING_RULES[table]
    return [dg.AssetCheckSpec(name, asset=table, blocking=True, description=rules.meaning(name))
            for name in rules.names]


def note_failures(event: StageEvent, data: DataFolder, results: Sequence[RuleResult]) -> None:
    """Put what failed among a stage's facts, and build Data Docs."""
    failed = [result for result in results if not result.passed]
    event.facts.update(rules=len(results), failed=[result.rule for result in failed],
                       failures=failed)
    build_data_docs(data)


def check_results(table: str, data: DataFolder, results: Sequence[RuleResult],
                  allowed: bool = False) -> Iterator[dg.AssetCheckResult]:
    """What Dagster shows of each rule. allowed: what failed is told and stops nothing."""
    for result in results:
        passed = result.passed or allowed
        yield dg.AssetCheckResult(
            check_name=result.rule, asset_key=table, passed=passed,
            description=None if result.passed else
            f"{'allowed: ' if allowed else ''}{failure_message(result)}",
            metadata={**failing_rows(result),
                      "data_docs": dg.MetadataValue.url((data_docs_folder(data) / "index.html").as_uri())})

