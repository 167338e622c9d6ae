"""Text from outside within Markdown: shown as it is, never as markup.

What belongs here: escaping. What does not: tables and pages, which their writers build.
"""

from __future__ import annotations

import re

from pipelines.visible import visible

_MARKUP = re.compile(r"[\\`*_\[\]<>&|~!$#@]|:(?=//)|(?<=www)\.", re.IGNORECASE)


def markdown_text(text: str) -> str:
    """The text on one line, so that a renderer shows its characters: no link, image, HTML, cell or heading of it.

    What acts on a screen is an escape, as `visible` has it.
    """
    return _MARKUP.sub(r"\\\g<0>", visible(" ".join(text.split())))
