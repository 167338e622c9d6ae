"""English sentences as clauses that a question can be made of: subject, finite verb, what stands behind it.

What belongs here: finding the main clause of a plain declarative sentence by its words alone, strictly: a
sentence that is not surely understood gives none. What does not: questions (`english_questions.py`), verbs
(`english_verbs.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipelines.questions.generated.english_phrases import words as word_set
from pipelines.questions.generated.english_verbs import Tense, Verb, base_form, finite_verb, participle_of

BE = ("was", "were", "is", "are")
MODALS = ("can", "could", "will", "would", "may", "might", "must", "should")
HAVE = ("had", "has", "have")
_ADVERBS = word_set("adverb")
"""Left out before and behind the finite verb: they point to sentences before, or say little."""
_DETERMINERS = word_set("determiner")
"""Behind these a word in the form of a verb is none."""
_NO_SUBJECT = word_set("no_subject")
_POINTS_BACK = re.compile(
    r"\b(?:they|them|their|theirs|this|these|those|it|itself|its|another|former|latter|such|same|there|here|above|"
    r"below|following|previous|until|not|never|no|n't|we|our|us|you|your|I|my|me|so|too|other|others)\b")
_ENDS_CLAUSE = re.compile(
    r"[;:–—]|[?!](?=\s|\Z)|,(?!\d)(?! \d{3,4}\b)|\s-\s|"
    r"\b(?:which|who|whom|whose|where|when|while|whereas|because|although|though|but|if|unless|"
    r"since(?= (?:he|she|the|they|it))|after (?=\w+ing\b)|before (?=\w+ing\b)|so that|in order to|as well as|"
    r"such as|including|despite)\b")
_SAYS_ELSEWHERE = re.compile(r"\b(?:that|than|whether|how|what|why)\b")
"""What is said, or compared with, would be cut off: such a clause is not taken."""
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
FULL_DATE = rf"(?:{_MONTH} \d{{1,2}},? \d{{3,4}}|\d{{1,2}} {_MONTH} \d{{3,4}})"
DATE = (rf"(?:{FULL_DATE}|{_MONTH} \d{{3,4}}|{_MONTH} \d{{1,2}}|\d{{1,2}} {_MONTH}|(?:the )?\d{{4}}s|"
        rf"\d{{1,4}} (?:BCE?|AD|CE)|[12]\d{{3}})")
DATE_PHRASE = re.compile(rf"\b(in|on|during|since|until|around|by) ({DATE})(?![\w–-]|, \d| (?:and|to|or) \d)", re.I)
_LEADING_DATE = re.compile(rf"(?:In|On|During|By|Around|Since) {DATE},? (?=\w)")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Clause:
    """A main clause. auxiliary: as `was`, else None and `verb` with its tense is the finite verb.

    subject: as in the sentence, `The` at its front lowered. rest: what stands behind the finite verb (with a
    participle in front where there is an auxiliary), cut before the next clause, without a point. lead: a
    date or place in front of the subject, else empty. reason: what stands behind "because", else empty.
    """

    subject: str
    auxiliary: str | None
    verb: Verb | None
    tense: Tense
    finite: str
    rest: str
    lead: str
    reason: str = ""

    @property
    def do(self) -> str:
        """The form of "do" that asks for a clause without an auxiliary."""
        if self.tense == "past":
            return "did"
        return "do" if self.verb is not None and self.finite == self.verb.base else "does"


def plain(sentence: str) -> str:
    """A sentence without brackets and what is in them, its white space single."""
    before = None
    while before != sentence:
        before, sentence = sentence, _BRACKETS.sub("", sentence)
    return " ".join(sentence.split())


def clause_of(sentence: str) -> Clause | None:
    """The main clause of a sentence; None where it is not surely one."""
    text = plain(sentence)
    if not 6 <= len(text.split()) <= 45 or not text.endswith(".") or text.count('"') % 2:
        return None
    text = text[:-1]
    lead, main = "", text
    match = _LEADING_DATE.match(text)
    if match is not None:
        lead, main = match[0].strip().rstrip(","), text[match.end():]
    elif (comma := text.find(", ")) > 0 and 2 <= len(text[:comma].split()) <= 6 \
            and text.split(None, 1)[0] in ("In", "At", "Under", "Within"):
        lead, main = text[:comma], text[comma + 2:]
        if not re.search(r" (?:[A-Z]|\d)", lead) or _POINTS_BACK.search(lead):
            return None
    return _main_clause(main, lead)


def _main_clause(text: str, lead: str) -> Clause | None:
    """The clause that a text begins with; None where its subject or its verb is in doubt."""
    words = list(_WORD.finditer(text))
    for place in range(1, min(len(words), 10)):
        word = words[place][0]
        if word[-1] in ",;:–—" or words[place - 1][0][-1] in ",;:":
            return None
        before = words[place - 1][0]
        is_verb = finite_verb(word) is not None or _is_plural_verb(before, word)
        if word in (*BE, *MODALS, *HAVE) or (is_verb and before.lower() not in _DETERMINERS):
            return _clause_at(text, words, place, lead)
    return None


def _is_plural_verb(before: str, word: str) -> bool:
    """Whether a word is a verb in the present behind a plural: "Owls hunt"."""
    return before.endswith("s") and not before.endswith(("ss", "us", "'s", "is")) and base_form(word) is not None


def _clause_at(text: str, words: list[re.Match[str]], place: int, lead: str) -> Clause | None:
    subject_words = [match[0] for match in words[:place]]
    while len(subject_words) > 1 and subject_words[-1] in _ADVERBS:
        subject_words.pop()
    if subject_words[0].lower().rstrip("'s") in _NO_SUBJECT or subject_words[0].lower() in _ADVERBS:
        return None
    subject = " ".join(subject_words)
    if subject.lower() in ("the", "a", "an") or re.search(r"\b(?:after|before|during|since|when|while)\b", subject):
        return None
    if not (subject[0].isupper() or subject_words[0] in ("the", "a", "an", "he", "she", "his", "her")):
        return None  # A plural without an article may be the object of a participle: "footage shot in 1969 …".
    if _POINTS_BACK.search(subject[0].lower() + subject[1:]) or any(mark in subject for mark in ';:"“”'):
        return None
    word = words[place][0]
    behind = words[place + 1:]
    while behind and behind[0][0] in _ADVERBS:
        behind = behind[1:]
    if not behind:
        return None
    whole = text[behind[0].start():]
    rest = _cut(whole)
    if not rest or _POINTS_BACK.search(rest) or _SAYS_ELSEWHERE.search(rest):
        return None
    if word in BE and rest[0].isupper():
        return None  # "The first tourist was Ann Lee": turned round, it would say something else.
    auxiliary: str | None = word
    verb: Verb | None = None
    tense: Tense = "past"
    if (word in HAVE and not _is_participle(rest.split()[0])) or word not in (*BE, *MODALS, *HAVE):
        if word == "have":
            return None
        found = finite_verb(word)
        plural = base_form(word)
        if found is None and plural is None:
            return None
        verb, tense = found or (plural, "present")
        auxiliary = None
    if auxiliary is None and tense == "past" and rest.startswith("by "):
        return None  # "a crisis caused by …": a participle, and the verb comes behind it.
    if _has_other_verb(rest, skip_first=auxiliary is not None):
        return None
    if subject.split()[0] in ("The", "A", "An", "His", "Her"):
        subject = subject[0].lower() + subject[1:]
    return Clause(subject, auxiliary, verb, tense, word, rest, lead, _reason(whole, rest))


def _reason(whole: str, rest: str) -> str:
    """What stands behind "because" right after the clause, up to the next mark."""
    match = re.match(r",? because (?:of )?([^,;:–—()\"]+)", whole[len(rest):]) if whole.startswith(rest) else None
    if match is None or not 2 <= len(match[1].split()) <= 16:
        return ""
    return match[1].strip()


def _is_participle(word: str) -> bool:
    return participle_of(word) is not None or word.endswith("ed") or word == "been"


def _cut(rest: str) -> str:
    """What belongs to the clause: up to the next mark or clause, or a second verb behind "and"."""
    match = _ENDS_CLAUSE.search(rest)
    if match is not None:
        if re.match(r"\S*[a-z]\S*, [A-Z]", rest[rest.rfind(" ", 0, match.start()) + 1:]) \
                and rest[rest.rfind(" ", 0, match.start()) + 1].islower():
            return ""  # "the singer, Ann Lee": who it was is cut off.
        if match[0] in "–—" and not rest[: match.start()].endswith(" "):
            return ""  # A range: "the 80–9F range".
        rest = rest[: match.start()]
    for match in re.finditer(r"\band (?=(\w+)(?: (\w+))?)", rest):
        following = [word for word in match.groups() if word]
        if any(finite_verb(word) or word in (*BE, *HAVE, *MODALS) or word.endswith("ed")
               for word in following) or following[0] in ("he", "she", *_DETERMINERS - {"the", "a", "an"}) \
                or rest[: match.start()].rstrip()[-1:].isdigit():
            rest = rest[: match.start()]
            break
    if rest.count('"') % 2:
        return ""
    rest = re.sub(r"\s+(?:and|or|as|to|of|in|by|with|for|the|a|from|at|on)\s*\Z", "", rest.rstrip())
    return rest.strip()


def _has_other_verb(rest: str, *, skip_first: bool) -> bool:
    """Whether another finite verb stands in what is left: the first one may then not be the main one."""
    words = rest.split()
    for place, word in enumerate(words):
        if word in (*BE, *HAVE, *MODALS, "did", "does", "do", "been") and not (skip_first and place == 0):
            return True
        if place and word.islower() and words[place - 1] not in _DETERMINERS and not (skip_first and place == 1):
            found = finite_verb(word)
            if found is not None and found[1] == "past" and participle_of(word) is None:
                return True
    return False
