"""What importing a part loads: the library knows no engine, and help is there at once."""

import subprocess
import sys

import pytest

ENGINES = {"dagster", "pyspark", "delta", "ray", "mlflow", "great_expectations", "torch", "transformers",
           "sentence_transformers", "sklearn", "onnxruntime", "faiss", "tantivy", "deltalake", "pyarrow",
           "pandas", "matplotlib", "gensim"}
WALK = """
import importlib, pkgutil, sys
import {package}
for module in pkgutil.walk_packages({package}.__path__, "{package}."):
    importlib.import_module(module.name)
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


def loaded_by(code: str) -> set[str]:
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return set(answer.stdout.split())


def test_importing_every_module_of_the_library_loads_no_engine() -> None:
    assert loaded_by(WALK.format(package="pipelines")) & ENGINES == set()


@pytest.mark.parametrize("module", ["jobs.cli", "jobs.commands.build", "jobs.commands.status",
                                    "jobs.commands.release", "jobs.commands.doctor"])
def test_importing_a_command_loads_no_engine(module: str) -> None:
    code = f"import {module}, sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    assert loaded_by(code) & ENGINES == set()


def test_loading_the_code_location_starts_no_engine_but_dagster() -> None:
    code = "import jobs.definitions, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    heavy = {"torch", "transformers", "ray", "mlflow", "great_expectations", "faiss", "onnxruntime",
             "matplotlib", "sklearn"}
    assert loaded_by(code) & heavy == set()
