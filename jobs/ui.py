"""`make ui`: Dagster's web server with its daemon, and MLflow's, over one data folder.

All listen on 127.0.0.1 and end together. What belongs here: starting and ending these processes. Runs that
are started in the UI work on the data folder given here.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from jobs.instance import instance_environment, place_instance
from pipelines.errors import EspalierError, UserError
from pipelines.settings import DataFolder
from training.moved_store import follow_move

HOST = "127.0.0.1"
WORKSPACE = Path(__file__).resolve().parent.parent / "workspace.yaml"
END_LIMIT_S = 20


def check_port(name: str, port: int) -> None:
    """Raise UserError when something listens on the port already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise UserError(f"port {port} for {name}", str(error.strerror), "a free port",
                            f"End what uses it, or pass --{name.lower()}-port.") from error


def commands(data: DataFolder, dagster_port: int, mlflow_port: int) -> dict[str, list[str]]:
    """The command line of each service, by name."""
    programs = Path(sys.executable).parent
    return {
        "Dagster": [str(programs / "dagster-webserver"), "-w", str(WORKSPACE), "-h", HOST, "-p",
                    str(dagster_port)],
        "Dagster's daemon": [str(programs / "dagster-daemon"), "run", "-w", str(WORKSPACE)],
        "MLflow": [str(programs / "mlflow"), "server", "--host", HOST, "--port", str(mlflow_port),
                   "--workers", "1", "--backend-store-uri", data.mlflow_uri,
                   "--artifacts-destination", data.mlflow_artifacts],
    }


def serve(data: DataFolder, dagster_port: int, mlflow_port: int) -> int:
    """Run all services until one ends or the user interrupts. Returns the exit code."""
    check_port("Dagster", dagster_port)
    check_port("MLflow", mlflow_port)
    place_instance(data)
    follow_move(data)
    # MLflow's server would start a dozen processes for jobs that nothing here submits.
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    environment = os.environ | instance_environment(data) | quiet
    services = {
        name: subprocess.Popen(command, env=environment, cwd=WORKSPACE.parent, start_new_session=True)
        for name, command in commands(data, dagster_port, mlflow_port).items()
    }
    print(f"Dagster http://{HOST}:{dagster_port}   MLflow http://{HOST}:{mlflow_port}   "
          f"data {data.root}   Ctrl-C ends both", flush=True)
    try:
        while not (ended := [name for name, service in services.items() if service.poll() is not None]):
            time.sleep(0.5)
        print(f"{', '.join(ended)} ended; see the messages above.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        for service in services.values():
            if service.poll() is None:
                os.killpg(service.pid, signal.SIGTERM)
        deadline = time.monotonic() + END_LIMIT_S
        for service in services.values():
            try:
                service.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(service.pid, signal.SIGKILL)


def main() -> int:
    """Parse the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m jobs.ui",
                                     description="Dagster and MLflow over a data folder.")
    parser.add_argument("--data", help="data folder; default: ESPALIER_DATA")
    parser.add_argument("--dagster-port", type=int, default=3000, help="port of Dagster's UI (default: 3000)")
    parser.add_argument("--mlflow-port", type=int, default=5000, help="port of MLflow's UI (default: 5000)")
    arguments = parser.parse_args()
    # A shell starts background jobs with SIGINT ignored; both signals end the services.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        return serve(DataFolder.at(arguments.data), arguments.dagster_port, arguments.mlflow_port)
    except EspalierError as error:
        print(f"espalier: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
