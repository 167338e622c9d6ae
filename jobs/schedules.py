"""Schedules. Off until someone switches them on in the UI.

What belongs here: when jobs run by the clock. What does not: what they do.
"""

import dagster as dg

from jobs.refresh import refresh_corpus
from pipelines.settings import DataFolder
from pipelines.storage import table_exists


@dg.schedule(
    job=refresh_corpus, cron_schedule="0 3 5 * *", execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Refresh the corpus on the 5th at 03:00 UTC, when the dumps of the 1st have been published "
                "and the drop folder's sensor has read them. Without new pages it does nothing.")
def monthly_refresh(context: dg.ScheduleEvaluationContext,
                    data: dg.ResourceParam[DataFolder]) -> dg.RunRequest | dg.SkipReason:
    """Ask for a refresh, unless no dump was ever read here: the run could only fail."""
    if not table_exists(data, "pages"):
        return dg.SkipReason(f"No dump file was read into {data.root} yet.")
    return dg.RunRequest()


default_schedules = [monthly_refresh]
