"""The file behind `--config`: YAML or JSON, checked as a pydantic model.

What belongs here: reading it, with every field at fault in one message. What does not: the fields.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from pipelines.errors import UserError, one_line

Config = TypeVar("Config", bound=BaseModel)


def faults(error: ValidationError) -> str:
    """Every field at fault with what is wrong, in one line."""
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors())


def load_config(path: Path, model: type[Config]) -> Config:
    """Read and check a config file. Raises UserError naming every field at fault."""
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"config {path}", f"cannot be read ({one_line(str(error))})", "a YAML or JSON file",
                        "Check the path and the syntax.") from error
    if not isinstance(values, dict):
        raise UserError(f"config {path}", "no fields" if values is None else f"a {type(values).__name__}",
                        f"lines as NAME: VALUE, of the fields {', '.join(model.model_fields)}", "Write them.")
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise UserError(f"config {path}", faults(error), f"fields of {', '.join(model.model_fields)}",
                        "Correct the file.") from error
