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
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

from jobs.instance import instance_environment, place_instance
from pipelines.errors import EspalierError, UserError
from pipelines.settings import DataFolder
from training.moved_store import artifacts_uri, follow_move

HOST = "127.0.0.1"
WORKSPACE = Path(__file__).resolve().parent.parent / "workspace.yaml"
END_LIMIT_S = 20
MOST_PORT = 65_535
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def check_port(name: str, port: int, option: str) -> None:
    """Raise UserError when the port cannot be listened on. option: how another is chosen, as --dagster-port."""
    if not 1 <= port <= MOST_PORT:
        raise UserError(f"port {port} for {name}", "no such port", f"a number from 1 to {MOST_PORT}",
                        f"Choose another: {option}.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise UserError(f"port {port} for {name}", str(error.strerror), "a free port",
                            f"End what uses it, or choose another: {option}.") from error


def commands(data: DataFolder, dagster_port: int, mlflow_port: int) -> dict[str, list[str]]:
    """The command line of each service, by name."""
    programs = Path(sys.executable).parent
    return {
        "Dagster": [str(programs / "dagster-webserver"), "-w", str(WORKSPACE), "-h", HOST, "-p",
                    str(dagster_port)],
        "Dagster's daemon": [str(programs / "dagster-daemon"), "run", "-w", str(WORKSPACE)],
        "MLflow": [str(programs / "mlflow"), "server", "--host", HOST, "--port", str(mlflow_port),
                   "--workers", "1", "--backend-store-uri", data.mlflow_uri,
                   "--artifacts-destination", data.mlflow_artifacts,
                   "--default-artifact-root", artifacts_uri(data)],
    }


def serve(data: DataFolder, dagster_port: int, mlflow_port: int, from_make: bool = False) -> int:
    """Run all services until one ends or the user interrupts. Returns the exit code.

    from_make: whether `make ui` asked, whose variables have other names than the options here.
    """
    ports = {"Dagster": dagster_port, "MLflow": mlflow_port}
    for name, port in ports.items():
        check_port(name, port, f"make ui {name.upper()}_PORT=…" if from_make else f"--{name.lower()}-port …")
    if dagster_port == mlflow_port:
        raise UserError(f"port {dagster_port}", "asked for twice", "a port each", "Choose another for one of them.")
    place_instance(data)
    follow_move(data)
    # MLflow's server would start a dozen processes for jobs that nothing here submits.
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    environment = os.environ | instance_environment(data) | quiet
    logs = data.prepare_state() / "ui"
    logs.mkdir(exist_ok=True)
    print(f"starting Dagster and MLflow over {data.root}; what they print is in {logs}", flush=True)
    services: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, command in commands(data, dagster_port, mlflow_port).items():
            with (log_file(logs, name)).open("wb") as log:
                services[name] = subprocess.Popen(command, env=environment, cwd=WORKSPACE.parent, stdout=log,
                                                  stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        waiting = {name: f"http://{HOST}:{port}" for name, port in ports.items()}
        while not (ended := [name for name, service in services.items() if service.poll() is not None]):
            for name, address in list(waiting.items()):
                if answers(address):
                    print(f"{name} {waiting.pop(name)}", flush=True)
                    if not waiting:
                        print("Ctrl-C ends both", flush=True)
            time.sleep(0.5)
        for name in ended:
            print(f"espalier: {name} ended with exit code {services[name].returncode}; expected it to run until "
                  f"Ctrl-C. See {log_file(logs, name)}; its last line: {last_line(log_file(logs, name))}",
                  file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        end(services)


def log_file(folder: Path, name: str) -> Path:
    """Where a service's output goes; the last start's is replaced."""
    return folder / f"{name.lower().replace(chr(39), '').replace(' ', '-')}.log"


def last_line(log: Path) -> str:
    """The last line with words that a service wrote."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "none")


def answers(address: str) -> bool:
    """Whether something speaks HTTP there now."""
    try:
        urllib.request.urlopen(address, timeout=2).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def end(services: dict[str, subprocess.Popen[bytes]]) -> None:
    """End the services with all that they started. A second Ctrl-C does not leave some of it behind."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    for service in services.values():
        _signal(service, signal.SIGTERM)
    deadline = time.monotonic() + END_LIMIT_S
    for service in services.values():
        with suppress(subprocess.TimeoutExpired):
            service.wait(timeout=max(0.1, deadline - time.monotonic()))
        # Whatever of its group is still there: servers of code locations, and runs.
        _signal(service, signal.SIGKILL)
        service.wait()


def _signal(service: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(service.pid, number)


def main() -> int:
    """Parse the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m jobs.ui",
                                     description="Dagster and MLflow over a data folder.")
    parser.add_argument("--data", help="data folder; default: ESPALIER_DATA")
    parser.add_argument("--dagster-port", type=int, default=3000, help="port of Dagster's UI (default: 3000)")
    parser.add_argument("--mlflow-port", type=int, default=5000, help="port of MLflow's UI (default: 5000)")
    parser.add_argument("--from-make", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    # A shell starts background jobs with SIGINT ignored; all of these end the services, a closed terminal too.
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)
    try:
        return serve(DataFolder.at(arguments.data), arguments.dagster_port, arguments.mlflow_port,
                     arguments.from_make)
    except EspalierError as error:
        print(f"espalier: {error.as_command_line()}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
