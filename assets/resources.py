"""Resources: what Dagster hands to assets, each a plain object that a test can make without Dagster.

What belongs here: turning configuration and environment into a `DataFolder`, a `Profile`, a Spark session
on demand, and the holding of the build lock. What does not: what these objects do (`pipelines`,
`spark_jobs`). Nothing reads the environment before a run needs the resource.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

from pipelines.build_options import load_build_options
from pipelines.locking import Holder, build_lock
from pipelines.settings import DataFolder, Profile, profile_by_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class DataFolderResource(dg.ConfigurableResourceFactory[DataFolder]):
    """The data folder that a run reads and writes."""

    root: str | None = Field(None, description="Folder or object-store address; without it ESPALIER_DATA")

    def create_resource(self, context: dg.InitResourceContext) -> DataFolder:
        return DataFolder.at(self.root)


class ProfileResource(dg.ConfigurableResourceFactory[Profile]):
    """The settings of a run: a named profile with what the data folder's owner chose for it."""

    profile: str | None = Field(None, description="fast or full; without it ESPALIER_PROFILE, else fast")
    data: dg.ResourceDependency[DataFolder]

    def create_resource(self, context: dg.InitResourceContext) -> Profile:
        return load_build_options(self.data).apply(profile_by_name(self.profile))


class SparkOnDemand:
    """A Spark session that starts when it is first used: a run in which nothing is due starts no JVM."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    @cached_property
    def session(self) -> SparkSession:
        """The process's one session. Raises RunFailure when Java or Delta's jars are missing."""
        from spark_jobs.session import get_spark

        return get_spark(self._profile)

    def __call__(self) -> SparkSession:
        """The session: the form in which Spark jobs take one that they may not need."""
        return self.session


class SparkResource(dg.ConfigurableResourceFactory[SparkOnDemand]):
    """The process's Spark session. It is not stopped after a run: the next job of the process uses it."""

    profile: dg.ResourceDependency[Profile]

    def create_resource(self, context: dg.InitResourceContext) -> SparkOnDemand:
        return SparkOnDemand(self.profile)


class BuildLockResource(dg.ConfigurableResourceFactory[Holder]):
    """The build lock, held from a run's first step to its last, however the run was started."""

    data: dg.ResourceDependency[DataFolder]

    @contextmanager
    def yield_resource(self, context: dg.InitResourceContext) -> Iterator[Holder]:
        with build_lock(self.data) as holder:
            yield holder


_DATA = DataFolderResource(root=None)
_PROFILE = ProfileResource(profile=None, data=_DATA)

default_resources: dict[str, object] = {
    "data": _DATA,
    "profile": _PROFILE,
    "spark": SparkResource(profile=_PROFILE),
    "lock": BuildLockResource(data=_DATA),
}
