"""What the owner of a data folder chose for its builds, kept with the data.

What belongs here: the few choices that must be the same in every later build, whether the CLI, a schedule
or the UI starts it: a run that forgot them would delete what they asked for. What does not: settings that
only change speed (`settings.py`), and choices of a single command.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipelines import files
from pipelines.errors import RunFailure, argument
from pipelines.settings import DataFolder, Profile


class BuildOptions(BaseModel):
    """Choices that stay until a later build makes others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    namespaces: tuple[int, ...] | None = Field(None, description="Namespaces that become documents")

    tolerances: dict[str, float] = Field({}, description="Rule → share of rows that may break it")

    def apply(self, profile: Profile) -> Profile:
        """The profile with these choices in it."""
        chosen = {} if self.namespaces is None else {"namespaces": self.namespaces}
        return profile.model_copy(update={**chosen, "tolerances": self.tolerances})


def load_build_options(data: DataFolder) -> BuildOptions:
    """The choices of a data folder, none when it has none. Raises RunFailure when the file is damaged."""
    path = _path(data)
    try:
        return BuildOptions.model_validate(files.read_json(path))
    except FileNotFoundError:
        return BuildOptions()
    except (ValueError, ValidationError) as error:
        raise RunFailure(path, "no valid build options", "JSON with namespaces and tolerances",
                         f"Remove the file and build again with {argument('namespaces')} and "
                         f"{argument('tolerate')} as they were.") from error


def save_build_options(data: DataFolder, options: BuildOptions) -> None:
    """Keep the choices for later builds."""
    files.write_json(_path(data), options.model_dump(mode="json"))


def _path(data: DataFolder) -> str:
    return f"{data.root}/build_options.json"
