"""The corpus: trees, sentences, passages and vectors, each from the table before it.

What belongs here: one asset a Spark stage, thin. What does not: what a stage does (`spark_jobs`), the
indexes (`indexes.py`), the release (`release.py`). A stage finds by its watermark what changed upstream
and works on that alone; with nothing to do it starts no Spark.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import dagster as dg

from assets.metadata import stage_facts, stage_metadata, table_spec
from assets.resources import SparkOnDemand
from assets.stages import stage
from pipelines.documents.readers.wikitext import PARSER_VERSION
from pipelines.locking import Holder
from pipelines.settings import DataFolder, Profile

_SPARK = {"spark", "delta"}


@dg.multi_asset(
    name="trees",
    specs=[table_spec("tree_nodes", ["pages"], code_version=str(PARSER_VERSION), kinds=_SPARK),
           table_spec("documents", ["pages"], code_version=str(PARSER_VERSION), kinds=_SPARK)])
def trees(data: dg.ResourceParam[DataFolder], profile: dg.ResourceParam[Profile],
          spark: dg.ResourceParam[SparkOnDemand], lock: dg.ResourceParam[Holder],
          ) -> Iterator[dg.MaterializeResult[None]]:
    """Parse changed pages into trees; `documents` is written last and says that a tree is complete."""
    from spark_jobs.nodes import refresh_trees

    yield from _run("trees", refresh_trees, spark, data, profile)


@dg.multi_asset(name="sentences", specs=[
    table_spec("sentences", ["tree_nodes", "documents"], code_version="1", kinds=_SPARK)])
def sentences(data: dg.ResourceParam[DataFolder], profile: dg.ResourceParam[Profile],
              spark: dg.ResourceParam[SparkOnDemand], lock: dg.ResourceParam[Holder],
              ) -> Iterator[dg.MaterializeResult[None]]:
    """Split the blocks of changed documents into sentences."""
    from spark_jobs.sentences import refresh_sentences

    yield from _run("sentences", refresh_sentences, spark, data, profile)


@dg.multi_asset(name="units", specs=[
    table_spec("units", ["documents", "tree_nodes", "sentences"], code_version="1", kinds=_SPARK)])
def units(data: dg.ResourceParam[DataFolder], profile: dg.ResourceParam[Profile],
          spark: dg.ResourceParam[SparkOnDemand], lock: dg.ResourceParam[Holder],
          ) -> Iterator[dg.MaterializeResult[None]]:
    """Join sentences of changed documents into passages."""
    from spark_jobs.units import refresh_units

    yield from _run("units", refresh_units, spark, data, profile)


@dg.multi_asset(name="embeddings", specs=[
    table_spec("embeddings", ["units"], code_version="1", kinds={*_SPARK, "onnx"})])
def embeddings(data: dg.ResourceParam[DataFolder], profile: dg.ResourceParam[Profile],
               spark: dg.ResourceParam[SparkOnDemand], lock: dg.ResourceParam[Holder],
               ) -> Iterator[dg.MaterializeResult[None]]:
    """Encode units with a text that has no vector yet."""
    from spark_jobs.embeddings import refresh_embeddings

    yield from _run("embeddings", refresh_embeddings, spark, data, profile)


def _run(name: str, refresh: Callable[..., Any], spark: SparkOnDemand, data: DataFolder,
         profile: Profile) -> Iterator[dg.MaterializeResult[None]]:
    """Call a Spark stage and materialize what it wrote: one table, or several that it returns together."""
    with stage(name) as event:
        outcome = refresh(spark, data, profile)
        results = list(outcome) if isinstance(outcome, Iterable) else [outcome]
        metadata = {result.table: stage_metadata(data, result) for result in results}
        for result in results:
            event.facts[result.table] = stage_facts(result, metadata[result.table])
    for result in results:
        yield dg.MaterializeResult(result.table, metadata=metadata[result.table])
