"""Validated settings: the profiles `fast` and `full`, the data folder's layout, the environment.

A profile changes sizes and places, never code paths. Folders and file names of a data folder are written
here and nowhere else. Environment variables are read when a function is called, never at import.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from pipelines.errors import UserError, argument

DATA_VARIABLE = "ESPALIER_DATA"
PROFILE_VARIABLE = "ESPALIER_PROFILE"
STATE_VARIABLE = "ESPALIER_STATE"
CACHE_VARIABLE = "ESPALIER_CACHE"
PRECISION_VARIABLE = "ESPALIER_ENCODER_PRECISION"

ENCODER_NAME = "all-MiniLM-L6-v2"
TOKEN_COUNTER_NAME = "SmolLM2"
LANGUAGE_MODEL_NAME = "SmolLM2-135M-Instruct"
"""The local one, of the router `local` and the reader `default`."""

Precision = Literal["auto", "fp32", "bf16"]
"""Of the encoder's matrix products. auto: bf16 where the processor has it and the texts are many."""


class Profile(BaseModel):
    """Settings of a run. All have defaults for a laptop; `full` is for a cluster and millions of pages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Literal["fast", "full"]
    n_buckets: int = Field(description="Partitions of tables with a doc_id; a power of two, fixed at creation")
    spark_master: str = Field("local[*]", description="Spark master")
    spark_driver_memory: str = Field("2g", description="Heap of Spark's driver")
    arrow_batch_rows: int = Field(64, description="Rows of an Arrow batch given to a Python worker")
    passage_words: int = Field(100, description="A passage closes before it exceeds this many words")
    namespaces: tuple[int, ...] = Field((0,), description="Namespaces that become documents")
    tolerances: dict[str, float] = Field({}, description="Rule → share of a table's rows that may break it, where "
                                                        "that is more than the rule itself allows")
    encoder: str = Field(ENCODER_NAME, description="Sentence encoder")
    encoder_precision: Precision = Field("auto", description="Of documents' vectors: auto, fp32 or bf16; "
                                                            "ESPALIER_ENCODER_PRECISION overrides it")
    encoder_batch_tokens: int = Field(1024, description="Tokens of one encoder batch, padding included")
    encoder_max_tokens: int = Field(256, description="Longer texts are truncated and flagged, in encoder tokens")
    token_counter: str = Field(TOKEN_COUNTER_NAME, description="Tokenizer that counts budgets")
    dense_flat_below: int = Field(100_000, description="Vectors: below, the index is exact; above, IVF-PQ")
    dense_ray_above: int = Field(1_000_000, description="Vectors: above, shards are built on Ray")
    kept_releases: int = Field(2, description="Newest releases whose tables and indexes clean-up keeps")
    router_answer_threshold: float = Field(0.3, description="similarity router: ANSWER from this score on")
    router_expand_threshold: float = Field(0.4, description="similarity router: EXPAND from this score on")
    router_score_threshold: float = Field(-12.0, description="routers local and URL, decode=score: take a line "
                                                             "from this score on; tuned for local")


PROFILES = {
    "fast": Profile(name="fast", n_buckets=4),
    "full": Profile(name="full", n_buckets=1024, spark_driver_memory="8g"),
}


def profile_by_name(name: str | None = None) -> Profile:
    """The named profile; without a name that of ESPALIER_PROFILE, else `fast`. Raises UserError.

    ESPALIER_ENCODER_PRECISION, where it is set, stands in for the profile's encoder_precision.
    """
    name = name or os.environ.get(PROFILE_VARIABLE) or "fast"
    if name not in PROFILES:
        raise UserError(f"profile {name!r}", "no such profile", f"one of {', '.join(PROFILES)}",
                        f"Set {argument('profile')} or {PROFILE_VARIABLE} to one of them.")
    precision = os.environ.get(PRECISION_VARIABLE)
    if not precision:
        return PROFILES[name]
    if precision not in get_args(Precision):
        raise UserError(f"{PRECISION_VARIABLE}", f"{precision!r}", f"one of {', '.join(get_args(Precision))}",
                        "Set it to one of them, or unset it.")
    return PROFILES[name].model_copy(update={"encoder_precision": precision})


@dataclass(frozen=True)
class DataFolder:
    """Where things lie in a data folder. `root` may be local or an object store's address; state is local."""

    root: str
    state: Path

    @classmethod
    def at(cls, root: str | os.PathLike[str] | None = None) -> DataFolder:
        """The data folder at `root`, else at ESPALIER_DATA. Raises UserError when neither is given."""
        chosen = os.fspath(root) if root is not None else os.environ.get(DATA_VARIABLE, "")
        if not chosen:
            raise UserError("data folder", "none given", "a folder for tables and indexes",
                            f"Pass {argument('data', 'DIR')} or set {DATA_VARIABLE}.")
        if escape := re.search("%[0-9A-Fa-f]{2}", chosen):
            # delta-rs takes paths for addresses and would look for the decoded one.
            raise UserError(f"data folder {chosen}", f"{escape[0]} in its path", "a path without percent escapes",
                            f"Rename the folder, or choose another {argument('data')}.")
        if "://" not in chosen:
            chosen = str(Path(chosen).expanduser().absolute())
        state = os.environ.get(STATE_VARIABLE)
        # MLflow's store would end at the first, delta-rs takes the second for a slash.
        if odd := re.search(r"[?\\\0]", chosen + (state or "")):
            raise UserError(f"data folder {chosen!r}", f"{odd[0]!r} in its path or in {STATE_VARIABLE}",
                            "a path without it", f"Rename the folder, or choose another {argument('data')}.")
        if state is None and "://" in chosen:
            raise UserError(f"data folder {chosen}", f"no {STATE_VARIABLE}", "a local folder for state",
                            f"Set {STATE_VARIABLE}: lock, run history and mapped indexes must be local.")
        return cls(chosen.rstrip("/"), Path(state).absolute() if state else Path(chosen) / ".state")

    def prepare_state(self) -> Path:
        """Make the state folder and return it. Raises UserError when it cannot be made."""
        try:
            self.state.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"data folder {self.root}", f"{self.state}: {error.strerror or error}",
                            "a folder that can be written", f"Correct {argument('data')}, {DATA_VARIABLE} or "
                            f"{STATE_VARIABLE}.") from error
        return self.state

    def table(self, name: str) -> str:
        return f"{self.root}/tables/{name}"

    @property
    def releases(self) -> str:
        return f"{self.root}/releases"

    @property
    def stages(self) -> str:
        """Folder of the watermarks: one JSON file a table, what its rows were last derived from."""
        return f"{self.root}/stages"

    def index(self, release: int) -> str:
        return f"{self.root}/indexes/{release}"

    @property
    def reports(self) -> str:
        return f"{self.root}/reports"

    @property
    def data_docs(self) -> str:
        return f"{self.root}/data_docs"

    @property
    def lock_file(self) -> Path:
        return self.state / "build.lock"

    @property
    def dagster_home(self) -> Path:
        return self.state / "dagster"

    @property
    def mlflow_uri(self) -> str:
        return f"sqlite:///{self.state}/mlflow.db"

    @property
    def mlflow_artifacts(self) -> str:
        return f"{self.root}/mlflow_artifacts"


def cache_folder() -> Path:
    """ESPALIER_CACHE, else ~/.cache/espalier: jars, Java, exported models."""
    return Path(os.environ.get(CACHE_VARIABLE) or "~/.cache/espalier").expanduser().absolute()
