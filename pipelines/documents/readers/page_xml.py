"""One `<page>` element → a `Page` at its newest good revision, or the reasons why not.

What belongs here: what the fields of MediaWiki's export (schemas 0.3 to 0.11) may hold, and the comparison of a
text with the dump's own SHA-1. What does not: files and the XML around pages (`dump.py`). A field that cannot be
believed costs its revision, or its page, and nothing else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pipelines.documents.readers.redirects import redirect_target
from pipelines.errors import shortened

REPLACED_CONTROL = "\ufdd0"
"""What `dump.py` puts in place of control characters."""
MISMATCH = "text_checksum"
"""Reason of a text that is not the one whose checksum the dump has."""
WIKITEXT = "wikitext"
NOT_WIKITEXT = "content model "
"""What the reason of a document begins with whose text is no wikitext."""
MAX_TITLE_BYTES = 1024
"""MediaWiki allows 255, and a namespace in front."""
_SYSTEMATIC_TEXTS, _SYSTEMATIC_SHARE = 20, 0.2
_PAGE_FIELDS = frozenset(("title", "ns", "id", "redirect"))
_SLOT_FIELDS = frozenset(("model", "format", "text"))
_REVISION_FIELDS = _SLOT_FIELDS | {"id", "timestamp", "sha1"}
_DIGITS, _NEGATIVE = re.compile(r"[0-9]{1,19}"), re.compile(r"-[0-9]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1970, 2099
_MODEL = re.compile(r"[A-Za-z][A-Za-z0-9_./+ -]{0,99}")
_BASE_36, _HEX = re.compile(r"[0-9a-z]{25,31}"), re.compile(r"[0-9a-f]{40}")
_SPACE = " \t\r\n"
_CONTROL = re.compile(f"[\x00-\x1f\x7f{REPLACED_CONTROL}\ufffe\uffff]")


class Page(NamedTuple):
    """One page at its newest revision in the file."""

    page_id: int
    title: str
    namespace: int
    redirect_to: str | None
    """Title of the page that this one redirects to, from the `<redirect>` element or `#REDIRECT [[…]]`."""
    revision_id: int
    revision_time: datetime | None
    text: str | None
    """Wikitext; None where the dump holds none (deleted, hidden or an empty `<text/>`)."""
    content_model: str | None = None
    """What the text is, as json or css; None for wikitext."""
    verified: bool | None = None
    """Whether the text is the one whose checksum the dump has; None where it has none."""

    def __repr__(self) -> str:
        return f"<Page {self.page_id} {shortened(self.title)!r}, {len(self.text or '')} characters>"


class PageFault(NamedTuple):
    """A page, or one revision of it, that is not taken.

    place: its title, else its number in the file. page_id: None where that cannot be read either.
    """

    place: str
    reason: str
    detail: str
    sample: str | None = None
    page_id: int | None = None


class _Fault(ValueError):
    def __init__(self, reason: str, detail: str, sample: str | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.sample = reason, detail, sample


class _Revision(NamedTuple):
    time: datetime | None
    number: int
    text: str | None
    content_model: str | None
    verified: bool | None

    @property
    def rank(self) -> tuple[datetime, int]:
        return self.time or datetime.min.replace(tzinfo=UTC), self.number


def is_systematic(n_mismatched: int, n_checked: int) -> bool:
    """Whether so many texts of a file differ from their checksums that the checksums are not of these texts.

    Tools that rewrite the texts of a dump leave the checksums as they were; damage hits a few pages.
    """
    return n_mismatched >= _SYSTEMATIC_TEXTS and n_mismatched >= _SYSTEMATIC_SHARE * n_checked


def mismatch(page: Page) -> PageFault:
    """The fault of a page that is not verified."""
    return PageFault(page.title, MISMATCH, f"revision {page.revision_id}: the text has another SHA-1 or length "
                                           "than the dump says", (page.text or "")[:500] or None, page.page_id)


def read_page(element: Any, place: str, namespace_of: Callable[[str], int],
              reject: Callable[[PageFault], None]) -> Page | None:
    """The page of an element, or None when none of it can be taken; `reject` gets what is not.

    Of two revisions the later one counts, then the one with the higher id. One whose text does not match its
    checksum only counts where no other does. place: what to call a page without a title.
    """
    page_id = None
    try:
        fields, elements = _children(element, _PAGE_FIELDS, "revision")
        page_id = _number(fields.get("id"), "page_id_invalid", "page id", 1, 2**63 - 1,
                          "page_id_not_positive")
        title = _title(fields.get("title"))
        namespace = (_number(fields["ns"], "namespace_invalid", "namespace", 0, 2**31 - 1) if "ns" in fields
                     else namespace_of(title))
        redirect = fields.get("redirect")
        redirect_to = None if redirect is None else _redirect(redirect)
    except _Fault as fault:
        named = " ".join((element.findtext("{*}title") or "").split())[:200]
        sample = fault.sample or (element.findtext("{*}revision/{*}text") or "")[:500] or None
        reject(PageFault(_CONTROL.sub("?", named) or place, fault.reason, fault.detail, sample, page_id))
        return None
    revisions: list[_Revision] = []
    for child in elements:
        try:
            revisions.append(_revision(child))
        except _Fault as fault:
            sample = fault.sample or (child.findtext("{*}text") or "")[:500] or None
            reject(PageFault(title, fault.reason, fault.detail, sample, page_id))
    if not elements:
        reject(PageFault(title, "revision_missing", "the page has no revision", None, page_id))
    if not revisions:
        return None
    best = max(revisions, key=lambda one: (one.verified is not False, *one.rank))
    page = Page(page_id, title, namespace, redirect_to, best.number, best.time, best.text, best.content_model,
                best.verified)
    for one in revisions:
        if one.verified is False and one is not best and one.rank >= best.rank:
            reject(mismatch(page._replace(revision_id=one.number, text=one.text)))
    if page.redirect_to is None and page.content_model is None:
        page = page._replace(redirect_to=redirect_target(page.text))
    return page


def _children(element: Any, names: frozenset[str], repeated: str = "") -> tuple[dict[str, Any], list[Any]]:
    """The children of these names, and those of the name that may be repeated.

    Raises _Fault for another one that is there twice.
    """
    found: dict[str, Any] = {}
    several = []
    for child in element:
        name = _local_name(child)
        if name == repeated:
            several.append(child)
        elif name in names and found.setdefault(name, child) is not child:
            raise _Fault(f"{name}_twice", f"<{name}> is there twice")
    return found, several


def _local_name(element: Any) -> str | None:
    tag = element.tag
    # Entities and the like have a function for a tag.
    return tag.rpartition("}")[2] if isinstance(tag, str) else None


def _value(element: Any, reason: str) -> str:
    """The words of a field. Raises _Fault where other elements or entities stand among them."""
    if len(element):
        raise _Fault(reason, f"<{_local_name(element)}> has elements or entities in it", (element.text or "")[:500])
    return str(element.text or "").strip(_SPACE)


def _title(element: Any) -> str:
    title = "" if element is None else _value(element, "title_invalid")
    if not title:
        raise _Fault("title_missing", "the page has no title")
    if _CONTROL.search(title) or len(title.encode()) > MAX_TITLE_BYTES:
        raise _Fault("title_invalid", f"the title {title[:200]!r}")
    return title


def _redirect(element: Any) -> str:
    target = str(element.get("title") or element.text or "").strip(_SPACE)
    if _CONTROL.search(target) or len(target.encode()) > MAX_TITLE_BYTES:
        raise _Fault("redirect_invalid", f"the redirect's target {target[:200]!r}")
    return target


def _number(element: Any, reason: str, subject: str, lowest: int, highest: int, too_low: str | None = None) -> int:
    if element is None:
        raise _Fault(reason, f"no {subject}")
    text = _value(element, reason)
    if not _DIGITS.fullmatch(text) or not lowest <= int(text) <= highest:
        is_low = too_low is not None and (_NEGATIVE.fullmatch(text) or set(text) == {"0"})
        raise _Fault(str(too_low) if is_low else reason,
                     f"{subject} {text[:100]!r} instead of a whole number from {lowest} to {highest}")
    return int(text)


def _time(element: Any) -> datetime | None:
    """The time in UTC, None where the revision has none."""
    text = "" if element is None else _value(element, "timestamp_invalid")
    if element is None:
        return None
    try:
        time = datetime.fromisoformat(text) if _TIME.fullmatch(text) else None
        time = time and (time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        time = None
    if time is None or not _FIRST_YEAR <= time.year <= _LAST_YEAR:
        raise _Fault("timestamp_invalid", f"the time {text[:100]!r} instead of one such as 2024-05-31T12:00:00Z")
    return time


def _revision(element: Any) -> _Revision:
    fields, slots = _children(element, _REVISION_FIELDS, "content")
    number = _number(fields.get("id"), "revision_id_invalid", "revision id", 0, 2**63 - 1,
                     "revision_id_negative")
    time = _time(fields.get("timestamp"))
    checksum = fields.get("sha1") if not slots else None
    if "text" not in fields:
        # The checksum of a revision with several slots is made of those of its slots.
        main = next((slot for slot in slots if (slot.findtext("{*}role") or "").strip() == "main"), None)
        fields = {} if main is None else _children(main, _SLOT_FIELDS)[0]
    if "text" not in fields:
        raise _Fault("text_missing", f"revision {number} has no text")
    model, kind = ((fields[name].text or "").strip() if name in fields else "" for name in ("model", "format"))
    if not model:
        model = WIKITEXT if kind in ("", "text/x-wiki") else kind
    if not _MODEL.fullmatch(model):
        raise _Fault("model_invalid", f"revision {number}: the content model {model[:100]!r}")
    text, verified = _text(fields["text"], number, checksum)
    return _Revision(time, number, text, None if model == WIKITEXT else model, verified)


def _text(element: Any, number: int, checksum: Any) -> tuple[str | None, bool | None]:
    """The text of a revision, and whether it has the checksum that the dump says; raises _Fault."""
    if element.get("deleted") is not None:
        return None, None
    if len(element):
        raise _Fault("text_has_elements", f"revision {number}: elements or entities stand in the text, whose "
                                          "markup is not escaped", (element.text or "")[:500])
    text: str | None = element.text
    damaged = text is not None and REPLACED_CONTROL in text
    if text is not None and damaged:
        text = text.replace(REPLACED_CONTROL, "\x00")
    verified = _verified(text or "", (element.get("sha1"), checksum.text if checksum is not None else None),
                         element.get("bytes") or "")
    if verified is False and not text:
        raise _Fault("text_missing", f"revision {number} has a checksum or a length, and no text")
    if verified is False and damaged:
        raise _Fault(MISMATCH, f"revision {number}: control characters stand in a text that has another SHA-1 than "
                               "the dump says", (text or "")[:500])
    return text, verified


def _verified(text: str, checksums: tuple[str | None, ...], n_bytes: str) -> bool | None:
    numbers = [number for written in checksums if (number := _checksum(written)) is not None]
    data = text.encode()
    if not numbers:
        # Lengths are only roughly those of the texts: old revisions count line ends differently.
        return None if not _DIGITS.fullmatch(n_bytes) or abs(int(n_bytes) - len(data)) <= data.count(b"\n") + 1 \
            else False
    if _sha1(data) in numbers:
        return True
    # XML turns \r\n, which old revisions have, into \n; tools that print XML anew strip or end texts.
    return any(_sha1(other) in numbers for other in (
        data.replace(b"\n", b"\r\n"), data.strip(), data.rstrip(), data + b"\n"))


def _sha1(data: bytes) -> int:
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest())


def _checksum(written: str | None) -> int | None:
    """The number of a SHA-1 in base 36, as MediaWiki writes it, or in hex; None for what is no SHA-1."""
    text = (written or "").strip().lower()
    return int(text, 16) if _HEX.fullmatch(text) else int(text, 36) if _BASE_36.fullmatch(text) else None
