"""`python -m jobs.setup`: what a checkout needs beside Python packages, fetched or made once.

Each step is named, skipped when its result is already there, and when it fails says so with the remedy.
The results lie in the cache folder (`ESPALIER_CACHE`), shared by all checkouts of a user.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from pipelines.errors import EspalierError
from pipelines.settings import ENCODER_NAME, LANGUAGE_MODEL_NAME, TOKEN_COUNTER_NAME, cache_folder


def _java() -> str:
    from spark_jobs.runtime import prepare_java

    return str(prepare_java())


def _jars() -> str:
    from spark_jobs.runtime import prepare_jars

    return f"{len(prepare_jars())} jars"


def _encoder() -> str:
    from pipelines.models.export import export_encoder

    return str(export_encoder(ENCODER_NAME))


def _token_counter() -> str:
    from pipelines.models.export import export_token_counter

    return str(export_token_counter(TOKEN_COUNTER_NAME))


def _language_model() -> str:
    from pipelines.models.export_llm import export_language_model

    return str(export_language_model(LANGUAGE_MODEL_NAME))


STEPS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("Java 17 or newer", _java),
    ("Delta's jars", _jars),
    (f"encoder {ENCODER_NAME}", _encoder),
    (f"token counter {TOKEN_COUNTER_NAME}", _token_counter),
    (f"language model {LANGUAGE_MODEL_NAME}", _language_model),
)


def main() -> int:
    """Run every step in order. Returns 0, or 1 after the first step that failed."""
    print(f"  cache: {cache_folder()}")
    for name, step in STEPS:
        begin = time.perf_counter()
        try:
            result = step()
        except EspalierError as error:
            print(f"setup: step '{name}' failed: {error}", file=sys.stderr)
            return 1
        except OSError as error:
            print(f"setup: step '{name}' failed: {error}. Check that {cache_folder()} can be written and "
                  "that the disk is not full, then run make setup again.", file=sys.stderr)
            return 1
        print(f"  {name}: {result} ({time.perf_counter() - begin:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
