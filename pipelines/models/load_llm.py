"""The language models that exist, by the name that `--router` and `--reader` take.

What belongs here: names. What does not: loading (`local_llm.py`, `endpoint.py`).
"""

from __future__ import annotations

from pipelines.errors import UserError, argument
from pipelines.models.llm import LanguageModel
from pipelines.models.llm_settings import is_address, is_cache_on, parse_endpoint, settings_from_environment
from pipelines.settings import LANGUAGE_MODEL_NAME


def check_model(name: str, local_name: str, subject: str, others: tuple[str, ...] = ()) -> None:
    """Raise UserError unless the name is the local model's, an endpoint's address, or one of the others.

    subject: what the name is for, as `router`. Settings of an endpoint are checked too; it is not asked.
    """
    if name == local_name or name in others:
        return
    if not is_address(name):
        expected = ", ".join([*others, local_name, "an endpoint's URL"])
        raise UserError(f"{subject} {name!r}", f"no such {subject}", f"one of {expected}",
                        f"Correct {argument(subject)}.")
    parse_endpoint(name)
    settings_from_environment()
    is_cache_on()


def described(name: str, local_name: str) -> str:
    """A name of a router or reader as results keep it: with the model where it is the local one."""
    if name != local_name:
        return name
    from pipelines.models.export_llm import known_weights

    return f"{name}: {known_weights(LANGUAGE_MODEL_NAME).title}"


def load_model(name: str) -> LanguageModel:
    """The model at an address; for every other name the local one. Raises UserError and RunFailure."""
    if is_address(name):
        from pipelines.models.endpoint import load_endpoint

        return load_endpoint(name)
    from pipelines.models.local_llm import load_local_model

    return load_local_model()
