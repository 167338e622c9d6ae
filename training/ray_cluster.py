"""Starting Ray: joins the cluster of RAY_ADDRESS, else starts a local one on this machine's cores.

What belongs here: the one place that calls `ray.init`. What does not: what is run on it. A local Ray is
bound to 127.0.0.1, shows no dashboard and reports no usage; who started it stops it. Another Ray that runs
on this machine is joined only if RAY_ADDRESS names it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.errors import RunFailure
from pipelines.reachable import refusal
from pipelines.scratch import scratch_folder

ADDRESS_VARIABLE = "RAY_ADDRESS"
OBJECT_STORE_BYTES = 256 << 20
"""Of a local Ray: tasks exchange paths and counts, not data."""


@contextmanager
def ray_session(n_cpus: int | None = None) -> Iterator[None]:
    """Ray within the block. A session that was running before is used and left running.

    Raises RunFailure when nothing answers at RAY_ADDRESS, no Ray of this version, or one that wants a token, and
    when a local Ray does not start.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        yield
        return
    if address := os.environ.get(ADDRESS_VARIABLE):
        if found := refusal(address):
            raise _unreachable(address, found)
        try:
            ray.init(log_to_driver=False)
        # Ray ends the process when it gives up on a cluster.
        except (Exception, SystemExit) as error:
            if "InvalidAuthToken" in f"{error.__cause__}":
                raise _refused(address) from error
            raise _unreachable(address, f"{type(error).__name__}: {error}".splitlines()[0]) from error
    else:
        from ray._common.utils import get_default_system_temp_dir

        try:
            ray.init("local", num_cpus=n_cpus or len(os.sched_getaffinity(0)), include_dashboard=False,
                     log_to_driver=False, object_store_memory=OBJECT_STORE_BYTES, _node_ip_address="127.0.0.1",
                     # Ray would keep the logs of every session for ever.
                     _temp_dir=str(scratch_folder("ray", get_default_system_temp_dir())))
        # Ray raises what it likes: Exception itself where its node is not up within half a minute.
        except Exception as error:
            ray.shutdown()
            raise RunFailure("Ray on this machine", f"{type(error).__name__}: {error}".splitlines()[0],
                             f"a Ray that starts, with room in {tempfile.gettempdir()} and in memory",
                             "Run again when the machine has less to do and room.") from error
    try:
        yield
    finally:
        ray.shutdown()


def _unreachable(address: str, found: str) -> RunFailure:
    return RunFailure(f"Ray at {ADDRESS_VARIABLE}={address}", found, "a cluster of this Ray version",
                      f"Start it (ray start --head), correct {ADDRESS_VARIABLE}, or unset it for a local one.")


def _refused(address: str) -> RunFailure:
    # `ray start --head` wants a token where ~/.ray/auth_token exists, which any local Ray makes.
    return RunFailure(f"Ray at {ADDRESS_VARIABLE}={address}", "refuses, for it wants a token",
                      "the token of that cluster",
                      "Set RAY_AUTH_MODE=token, with that cluster's token in ~/.ray/auth_token or RAY_AUTH_TOKEN.")
