"""What a dump says about its wiki: name, language, address, namespaces.

What belongs here: the `<siteinfo>` element as a value that travels to Spark workers as JSON.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pipelines.documents.readers.namespaces import CANONICAL, FILE, is_file_prefix, is_language, local_names

_WIKI = re.compile(r"([a-z_]+?)wiki(?:pedia)?$")


@dataclass(frozen=True)
class SiteInfo:
    """A wiki. wiki: its database name (enwiki), None when the dump does not say.

    namespaces: name → number, with the wiki's own names, the canonical English ones and common aliases.
    """

    wiki: str | None
    language: str
    base: str
    namespaces: dict[str, int] = field(default_factory=dict)

    @classmethod
    def unknown(cls, language: str = "") -> SiteInfo:
        """The wiki of a dump without siteinfo: every language's namespace names are understood."""
        return cls(None, language, "", {**local_names(language), **CANONICAL})

    @classmethod
    def from_root(cls, root: Any, siteinfo: Any = None) -> SiteInfo:
        """From the root element and, where there is one, its complete `<siteinfo>` element."""
        language = root.get("{http://www.w3.org/XML/1998/namespace}lang") or ""
        if siteinfo is None:
            return cls.unknown(language)
        wiki = (siteinfo.findtext("{*}dbname") or "").strip() or None
        if not language and wiki and (match := _WIKI.match(wiki)):
            language = match[1].replace("_", "-")
        names = {**local_names(language), **CANONICAL}
        for element in siteinfo.iterfind("{*}namespaces/{*}namespace"):
            name, key = (element.text or "").strip(), element.get("key") or ""
            if name and key.lstrip("-").isdigit():
                names[name] = int(key)
        return cls(wiki, language, (siteinfo.findtext("{*}base") or "").strip(), names)

    def to_json(self) -> str:
        return json.dumps({"wiki": self.wiki, "language": self.language, "base": self.base,
                           "namespaces": self.namespaces}, ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> SiteInfo:
        return cls(**json.loads(text))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Namespace numbers by lower-case name with spaces: what links are looked up in."""
        return {name.lower().replace("_", " "): number for name, number in self.namespaces.items()}

    def namespace_of(self, title: str) -> tuple[int, str]:
        """Number of a title's namespace and the title without its prefix; 0 for an article."""
        prefix, colon, rest = title.partition(":")
        if colon:
            number = self.numbers.get(" ".join(prefix.replace("_", " ").split()).lower())
            if number is not None:
                return number, rest.strip()
        return 0, title

    def is_file_prefix(self, prefix: str) -> bool:
        """Whether `[[prefix:Name]]` is a picture: the wiki's own name for files, or any language's."""
        name = " ".join(prefix.replace("_", " ").split()).lower()
        return self.numbers.get(name) == FILE or is_file_prefix(prefix)

    def is_language_prefix(self, prefix: str) -> bool:
        """Whether `[[prefix:Title]]` links to the same article in another language."""
        return is_language(prefix.strip()) and prefix.strip().lower() not in self.numbers
