"""English questions of clauses: one thing is masked, the rest is asked for it in the words of the field.

What belongs here: which parts of a clause can be the answer (a date, place, number, name, reason) and how each is
asked for, other words for the verb. What does not: finding the clause (`english_clauses.py`), which questions are
taken (`cloze.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pipelines.questions.generated.draws import Draws
from pipelines.questions.generated.english_clauses import BE, DATE, DATE_PHRASE, FULL_DATE, Clause
from pipelines.questions.generated.english_phrases import words as word_set
from pipelines.questions.generated.english_verbs import Verb, other_verb, participle_of

_NAME = r"(?:[A-Z][\w'’.-]*(?: (?:of|the|de|von|van|and|la|le|di|du)(?: the)? (?=[A-Z])| (?=[A-Z])))*[A-Z][\w'’.-]*"
_PLACE_PHRASE = re.compile(rf"\b(in|at|near|from|to) ((?:the )?{_NAME})(?=\Z| (?:in|on|at|with|by|from|to|near)\b)")
_DANGLING = re.compile(r"\b(?:during|since|until|from|between|in|at|of|to|the|and)\Z")
"""What cannot be a clause's last word, where a date behind it is gone."""
_PARTICLE = re.compile(r"(?:to|up|out|down|off|in|on|over|into)\b")
_NUMBER = re.compile(
    r"(?:(?:about|over|around|approximately|nearly|more than|some|at least|only) )?"
    r"(\d[\d,.]*\d|\d|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|twenty|"
    r"thirty|forty|fifty) ((?:[a-z][a-z-]+ ){0,2}?(?:[a-z-]+s|people|men|women|children))(?=\Z| )")
_NO_UNIT = word_set("no_unit")
_BY_NAME = re.compile(rf"(\w+) by (?:the |an? )?((?:[A-Z][a-z]+ )?(?:[a-z-]+ ){{1,3}})?({_NAME})"
                      r"(?=\Z| (?:in|on|at|for|with|from|as)\b)")
_DESCRIBED_NAME = re.compile(
    rf"(?:(?:the|an?) )?((?:[A-Z][a-z]+ )?(?:[a-z][a-z-]+ ){{1,2}}|[A-Z][a-z]+ )({_NAME})\Z")
_NO_OBJECT = ("have", "include", "become", "remain", "appear", "last", "take", "make")
"""Verbs of which "what" behind them says little."""
_OBJECT_END = re.compile(r"\Z| (?:in|on|at|for|to|from|with|during|as|near|after|before|under|through|against)\b")
_NOT_PEOPLE = re.compile(rf"\b(?:{'|'.join(sorted(word_set('no_person')))}|"
                         r"\w+(?:ern|ism|tion|sion|ment|ity|ology|ics|ium|ide|phy))\b")
_PERSON = re.compile(r"(?:[A-Z][a-zà-ÿ'’-]+|[A-Z]\.)(?: (?:[A-Z]\.|[A-Z][a-zà-ÿ'’-]+|de|von|van|der|la|di)){1,3}")


@dataclass(frozen=True)
class Asked:
    """A question with what answers it, a stretch of the sentence; of a keyword query nothing.

    event: the question without its wh-word, as `did Huxley turn down an offer`, where it asks for a date: other
    details of it can be asked. Else empty.
    """

    question: str
    answer: str
    event: str = ""


def is_person(name: str) -> bool:
    """Whether a name looks like a person's: two to four capitalised words, none of an organisation or place."""
    return (_PERSON.fullmatch(name) is not None and _NOT_PEOPLE.search(name) is None
            and re.search(r"['’]s\b", name) is None)


def questions_of(clause: Clause, links: Sequence[str], draws: Draws) -> Iterator[Asked]:
    """Every question that a clause answers. links: texts of its links, whose borders are those of names."""
    yield from _for_date(clause, draws)
    yield from _for_place(clause, draws)
    yield from _for_number(clause, draws)
    yield from _for_agent(clause, draws)
    yield from _for_object(clause, links, draws)
    yield from _for_subject(clause, draws)
    yield from _for_name(clause, draws)
    yield from _for_reason(clause, draws)


def _asked(wh: str, clause: Clause, rest: str, draws: Draws, *, with_lead: bool = True) -> str:
    return f"{wh} {_event(clause, rest, draws, with_lead=with_lead)}?"


def _event(clause: Clause, rest: str, draws: Draws, *, with_lead: bool) -> str:
    """The clause behind a wh-word: `did Huxley turn down an offer`."""
    tail = f" {clause.lead[0].lower()}{clause.lead[1:]}" if with_lead and clause.lead else ""
    rest = " ".join(rest.split())
    if clause.auxiliary is not None:
        return f"{clause.auxiliary} {clause.subject} {_passive(rest, draws)}{tail}".replace("  ", " ").rstrip()
    assert clause.verb is not None
    verb = _other(clause.verb, draws, rest)
    return f"{clause.do} {clause.subject} {verb.base} {rest}{tail}".replace("  ", " ").rstrip()


def _other(verb: Verb, draws: Draws, rest: str) -> Verb:
    """The verb itself or, for half of the questions, another one for the same frame."""
    if not verb.others or not draws.chance(0.6, "verb") or _PARTICLE.match(rest):
        return verb
    return other_verb(draws.pick(verb.others, "other verb"))


def _passive(rest: str, draws: Draws) -> str:
    """What stands behind an auxiliary, a participle in front perhaps in another word."""
    first, _, behind = rest.partition(" ")
    verb = participle_of(first)
    if verb is None or not verb.others:
        return rest
    return f"{_other(verb, draws, behind).participle} {behind}".rstrip()


def _for_date(clause: Clause, draws: Draws) -> Iterator[Asked]:
    match = DATE_PHRASE.fullmatch(clause.lead) if clause.lead else None
    if match is not None:
        rest, with_lead = clause.rest, False
    else:
        match, with_lead = DATE_PHRASE.search(clause.rest), True
        if match is None:
            return
        rest = clause.rest[: match.start()] + clause.rest[match.end():]
    if len(rest.split()) < 3 or DATE_PHRASE.search(rest) or _DANGLING.search(rest.rstrip()) is not None:
        return
    wh = _when(match[1].lower(), match[2], draws)
    event = _event(clause, rest, draws, with_lead=with_lead)
    yield Asked(f"{wh} {event}?", match[2].removeprefix("the "), event)


def _when(preposition: str, date: str, draws: Draws) -> str:
    if preposition in ("since", "until", "by", "around"):
        return {"since": "Since when", "until": "Until when", "by": "By when", "around": "Around when"}[preposition]
    if re.fullmatch(r"[12]\d{3}", date):
        return draws.pick(("When", "When", "In which year", "In what year"), "wh")
    return draws.pick(("When", "When", "On what date"), "wh") if re.fullmatch(FULL_DATE, date) else "When"


def _for_place(clause: Clause, draws: Draws) -> Iterator[Asked]:
    verb = clause.verb or participle_of(clause.rest.split()[0])
    is_born = clause.auxiliary in BE and clause.rest.startswith("born ")
    if not is_born and (verb is None or not verb.takes_place):
        return
    for match in _PLACE_PHRASE.finditer(clause.rest):
        if DATE_PHRASE.match(match[0]) or re.match(DATE, match[2]) or is_person(match[2]):
            continue
        rest = clause.rest[: match.start()] + clause.rest[match.end():]
        if not is_born and len(clause.subject.split()) + len(rest.split()) + len(clause.lead.split()) < 4:
            continue
        if match[1] == "to" and match.start() > 0:
            continue  # What went before it belongs to the verb: "went up to Oxford".
        wh = "From where" if match[1] == "from" else "Where"
        yield Asked(_asked(wh, clause, rest, draws), match[2].removeprefix("the "))
        return


def _for_number(clause: Clause, draws: Draws) -> Iterator[Asked]:
    match = _NUMBER.match(clause.rest)
    if clause.verb is None or clause.verb.base == "include" or match is None \
            or _NO_UNIT & {match[2].split()[0], match[2].split()[-1]}:
        return
    rest = clause.rest[match.end():]
    if rest.startswith(" of"):
        return
    tail = f" {clause.lead[0].lower()}{clause.lead[1:]}" if clause.lead else ""
    verb = _other(clause.verb, draws, rest)
    question = f"How many {match[2]} {clause.do} {clause.subject} {verb.base}{rest}{tail}?"
    yield Asked(" ".join(question.split()), match[1])


def _for_agent(clause: Clause, draws: Draws) -> Iterator[Asked]:
    """`X was designed by Ann Lee` asks who designed X."""
    match = _BY_NAME.match(clause.rest) if clause.auxiliary in ("was", "were") else None
    verb = participle_of(match[1]) if match is not None else None
    if match is None or verb is None or not is_person(match[3]):
        return
    rest = clause.rest[match.end():]
    tail = f" {clause.lead[0].lower()}{clause.lead[1:]}" if clause.lead else ""
    described = (match[2] or "").strip()
    is_agent = described and (_AGENT.search(described) is not None or described.split()[-1] in _DESCRIPTIONS)
    who = f"Which {described}" if is_agent else "Who"
    question = f"{who} {_other(verb, draws, clause.subject).past} {clause.subject}{rest}{tail}?"
    yield Asked(" ".join(question.split()), match[3])


def _for_object(clause: Clause, links: Sequence[str], draws: Draws) -> Iterator[Asked]:
    """What stands right behind the verb, where it is a link's text, and no more."""
    if clause.verb is None or clause.verb.base in _NO_OBJECT:
        return
    for link in sorted(links, key=len, reverse=True):
        match = re.match(rf"(?:(the|a|an|his|her) )?{re.escape(link)}", clause.rest)
        if match is None or _OBJECT_END.match(clause.rest, match.end()) is None or len(link) < 3:
            continue
        rest = clause.rest[match.end():]
        if len(rest.split()) + len(clause.lead.split()) < 3:
            continue
        wh = "Whom" if is_person(link) else "What"
        yield Asked(_asked(wh, clause, rest, draws), link)
        return


def _for_subject(clause: Clause, draws: Draws) -> Iterator[Asked]:
    """Who did it: a person's name alone or behind a description, as `the Bulgarian scholar Clement of Ohrid`."""
    if len(clause.rest.split()) < 3:
        return
    described = _DESCRIBED_NAME.fullmatch(clause.subject)
    who, name = None, clause.subject
    if described is not None and is_person(described[2]):
        words = described[1].split()
        words[0] = words[0].lower() if words[0].lower() in _DESCRIPTIONS else words[0]
        if words[-1].islower() and (_AGENT.search(words[-1]) is not None or words[-1] in _DESCRIPTIONS):
            who, name = f"Which {' '.join(words)}", described[2]
    if who is None and is_person(name) and (clause.verb is None or clause.verb.is_human):
        who = "Who"
    first = clause.rest.split()[0]
    if who is None or clause.finite in ("were", "are"):
        return
    if clause.auxiliary is not None and participle_of(first) is None \
            and (clause.auxiliary not in BE or first not in ("the", "a", "an", "one", "born")):
        return
    if who == "Who" and _THING.search(" ".join(clause.rest.split()[:6])) is not None:
        who = "What"
    if clause.auxiliary is not None:
        predicate = f"{clause.auxiliary} {_passive(clause.rest, draws)}"
    else:
        assert clause.verb is not None
        verb = _other(clause.verb, draws, clause.rest)
        predicate = f"{verb.past if clause.tense == 'past' else verb.third_person} {clause.rest}"
    tail = f" {clause.lead[0].lower()}{clause.lead[1:]}" if clause.lead else ""
    yield Asked(f"{who} {predicate}{tail}?", name)


_THING = re.compile(rf"\b(?:{'|'.join(sorted(word_set('thing')))})\b")
"""What comes first of what a name is: then it is no person's."""
_NOUN_PHRASE = re.compile(
    r"(a|an|the) (?!(?:most|first|main|major|only|result|part|number|member|same|kind|type)\b)")
"""What a thing is, apart from what says little of it."""
_AGENT = re.compile(r"[a-z]{2}(?:ist|ian|er|or|man|woman|smith|eon)\Z")
_DESCRIPTIONS = word_set("description")
"""What opens a sentence before a name, and loses its capital in the middle of a question."""


def _for_name(clause: Clause, draws: Draws) -> Iterator[Asked]:
    """`Agronomy is the study of crops` asks what the study of crops is called."""
    words = clause.subject.split()
    if clause.finite not in ("is", "was") or len(words) > 4 or words[0] in ("the", "his", "her") \
            or is_person(clause.subject) or re.search(r"['’]|\bof\b|\d", clause.subject):
        return
    match = _NOUN_PHRASE.match(clause.rest)
    if match is None or len(clause.rest.split()) < (5 if match[1] == "the" else 7):
        return
    name = " ".join(words[1:]) if words[0] in ("a", "an") else clause.subject
    forms = [f"What {clause.finite} {clause.rest} called?", f"What is the name for {clause.rest}?",
             f"What do you call {clause.rest}?"]
    if clause.finite == "was":
        forms = [f"What was {clause.rest} called?", f"What was the name of {clause.rest}?"]
    yield Asked(draws.pick(forms, "name form"), name)


def _for_reason(clause: Clause, draws: Draws) -> Iterator[Asked]:
    if clause.reason:
        yield Asked(_asked("Why", clause, clause.rest, draws), clause.reason)


def with_subject(clause: Clause, name: str) -> Clause:
    """The clause with a name in the place of its pronoun."""
    return replace(clause, subject=name)
