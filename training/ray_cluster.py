"""Starting Ray: joins the cluster of RAY_ADDRESS, else starts a local one on this machine's cores.

What belongs here: the one place that calls `ray.init`. What does not: what is run on it. A local Ray is
bound to 127.0.0.1, shows no dashboard and reports no usage; who started it stops it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

OBJECT_STORE_BYTES = 256 << 20
"""Of a local Ray: tasks exchange paths and counts, not data."""


@contextmanager
def ray_session(n_cpus: int | None = None) -> Iterator[None]:
    """Ray within the block. A session that was running before is used and left running."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        yield
        return
    if os.environ.get("RAY_ADDRESS"):
        ray.init(log_to_driver=False)
    else:
        ray.init(num_cpus=n_cpus or len(os.sched_getaffinity(0)), include_dashboard=False,
                 log_to_driver=False, object_store_memory=OBJECT_STORE_BYTES, _node_ip_address="127.0.0.1")
    try:
        yield
    finally:
        ray.shutdown()
