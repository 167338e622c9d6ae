"""Schedules. Off until someone switches them on in the UI.

What belongs here: when jobs run by the clock. What does not: what they do.
"""

from __future__ import annotations

import dagster as dg

from jobs.refresh import refresh_corpus

monthly_refresh = dg.ScheduleDefinition(
    name="monthly_refresh", job=refresh_corpus, cron_schedule="0 3 5 * *", execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Refresh the corpus on the 5th at 03:00 UTC, when the dumps of the 1st have been published "
                "and the drop folder's sensor has read them. Without new pages it does nothing.")

default_schedules = [monthly_refresh]
