"""Resources: what Dagster hands to assets, each a plain object that a test can make without Dagster.

What belongs here: turning configuration and environment into a `DataFolder`, a `Profile`, a Spark session
on demand, the holding of the build lock, and a plan that a run must be given. What does not: what these
objects do (`pipelines`, `spark_jobs`). Nothing reads the environment before a run needs the resource.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import dagster as dg

from assets.router_plan import RouterPlan
from pipelines.build_options import load_build_options
from pipelines.locking import Holder, build_lock
from pipelines.settings import DataFolder, Profile, profile_by_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkOnDemand:
    """A Spark session that starts when it is first used: a run in which nothing is due starts no JVM."""

    def __init__(self, profile: Profile, data: DataFolder) -> None:
        self._profile, self._data = profile, data

    @cached_property
    def session(self) -> SparkSession:
        """The process's one session. Raises RunFailure when Java, Delta's jars or the cluster is missing."""
        from spark_jobs.session import get_spark

        return get_spark(self._profile, self._data)


@dg.resource(
    config_schema={"root": dg.Field(
        str, is_required=False, description="Folder or object-store address; without it ESPALIER_DATA")},
    description="The data folder that a run reads and writes.")
def data_folder(context: dg.InitResourceContext) -> DataFolder:
    """The data folder. Raises UserError when neither configuration nor environment names one."""
    return DataFolder.at(context.resource_config.get("root"))


@dg.resource(
    required_resource_keys={"data"},
    config_schema={"name": dg.Field(
        str, is_required=False, description="fast or full; without it ESPALIER_PROFILE, else fast")},
    description="The settings of a run: a named profile with what was chosen for the data folder.")
def profile(context: dg.InitResourceContext) -> Profile:
    """The profile. Raises UserError for a name that does not exist."""
    chosen = profile_by_name(context.resource_config.get("name"))
    return load_build_options(context.resources.data).apply(chosen)


@dg.resource(required_resource_keys={"profile", "data"},
             description="The process's Spark session, started on its first use. It is not stopped after a "
                         "run: the next job of the process uses it.")
def spark(context: dg.InitResourceContext) -> SparkOnDemand:
    """The session on demand."""
    return SparkOnDemand(context.resources.profile, context.resources.data)


@dg.resource(required_resource_keys={"data"},
             description="The build lock, held from a run's first step to its last, however it was started.")
def lock(context: dg.InitResourceContext) -> Iterator[Holder]:
    """The holding. Raises RunFailure, with process id and start time, when another process has the lock."""
    with build_lock(context.resources.data) as holder:
        yield holder


default_resources: dict[str, Any] = {
    "data": data_folder, "profile": profile, "spark": spark, "lock": lock,
    "router_plan": RouterPlan.configure_at_launch(),
}
