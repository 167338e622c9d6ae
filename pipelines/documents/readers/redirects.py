"""Redirects that are told by their wikitext, `#REDIRECT [[Target]]`, where an export has no `<redirect>` element.

What belongs here: the words of MediaWiki's languages and the form of the line. A dump does not list a wiki's words,
so all of them are understood everywhere: before a link at the beginning of a page they mean nothing else.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

_WORDS = """
redirect redirection redirectare réacheminer rediriger weiterleitung wëiterleedung viderleitung doorverwijzing
aanstuur omdirigering omdiriger viderestilling ohjaus uudelleenohjaus suuna tilvísun ávísun rinvia rinvio
redirección redireccion redirecionamento redireición redirecció redireccionament birzuzendu athsheoladh
ath-sheòladh ail-cyfeirio adkas adkasañ stiurañ redirecționează přesměruj přesměrování presmeruj patrz
przekieruj tam preusmeritev preusmjeri preusmeri преусмери перенаправление перенапр переадресация
перенаправлення пренасочване виж пренасочување перанакіраванне айдау юнәлтү йүнәлтеү átirányítás yönlendirme
yönlendir istiqamətləndirmə pāradresācija peradresavimas alidirektu alidirekti ανακατευθυνση ανακατεύθυνση
վերահղում გადამისამართება הפניה ווייטערפירן تحويل تغییر_مسیر تغییرمسیر رجوع_مکرر अनुप्रेषित पुनर्निर्देशन
पुनर्निर्देशित পুনঃনির্দেশ পুনর্নির্দেশ ਰੀਡਿਰੈਕਟ રીડાયરેક્ટ வழிமாற்று దారిమార్పు ಪುನರ್ನಿರ್ದೇಶನ തിരിച്ചുവിടുക
යළියොමුව เปลี่ยนทาง หน้าที่ถูกเปลี่ยนทาง ប្តូរទីតាំងទៅ đổi đổi_hướng 転送 リダイレクト 넘겨주기 重定向 重新導向 yoʻnaltirish alih
alihkan lencong pindah
"""
_ANY_WORD = "|".join(re.escape(word).replace("_", "[ _]") for word in _WORDS.split())
_REDIRECT = re.compile(rf"\s*#(?:{_ANY_WORD})\s*:?\s*\[\[([^\[\]|]+)(?:\|[^\]]*)?\]\]", re.IGNORECASE)
_HEAD_CHARACTERS = 2048
"""Looked at: the words and a link of the longest title."""


def redirect_target(text: str | None) -> str | None:
    """The title that a page's wikitext redirects to, without section; None for a page that is no redirect."""
    if not text or "#" not in text[:_HEAD_CHARACTERS]:
        return None
    match = _REDIRECT.match(text[:_HEAD_CHARACTERS])
    if match is None:
        return None
    target = unquote(match[1]) if "%" in match[1] else match[1]
    title = " ".join(target.strip().removeprefix(":").partition("#")[0].replace("_", " ").split())
    return title or None
