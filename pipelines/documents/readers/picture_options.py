"""Words that lay out a picture in `[[File:…|option|caption]]`, by language: they are no caption.

What belongs here: the tables and their look-up. A language is added by a line in `_WORDS`; a word that takes
a value is written with its `=`. English words hold on every wiki, and a dump says nothing of these, so that
all languages' words hold everywhere.
"""

from __future__ import annotations

import re

# Words are separated by a comma; an underscore in them reads as a space too.
_WORDS = {
    "en": "thumb, thumbnail, frame, framed, enframed, frameless, border, left, right, center, centre, "
          "none, upright, baseline, middle, sub, super, sup, text-top, text-bottom, top, bottom, upright=, "
          "thumb=, thumbnail=, alt=, link=, page=, lang=, class=, thumbtime=, start=, end=, loop, muted, "
          "nocaption",
    "ar": "تصغير, مصغر, إطار, بإطار, لاإطار, بدون إطار, حدود, يسار, يمين, مركز, وسط, بلا, بدون, وصلة=, "
          "رابط=, بديل=, صفحة=, لغة=, معدول, معدول=",
    "ca": "miniatura, marc, dreta, esquerra, centre, vora, enllaç=",
    "cs": "náhled, okraj, rám, bezrámu, vlevo, vpravo, střed, žádné, odkaz=, alternativa=, strana=",
    "da": "miniature, ramme, venstre, højre, centreret, ingen",
    "de": "mini, miniatur, gerahmt, rahmenlos, rand, links, rechts, zentriert, ohne, hochkant, hochkant=, "
          "alternativtext=, verweis=, seite=, sprache=, klasse=, mini=, miniatur=",
    "el": "μικρογραφία, μινιατούρα, πλαίσιο, χωρίς-πλαίσιο, χωρίς πλαίσιο, σύνορο, αριστερά, δεξιά, "
          "κέντρο, καθόλου, κατακόρυφα, κατακόρυφα=, σύνδεσμος=, εναλλ.=, σελίδα=",
    "es": "miniatura, miniaturadeimagen, mini, marco, enmarcado, enmarcada, sinmarco, sin_enmarcar, borde, "
          "izquierda, izda, derecha, dcha, centro, centrado, centrada, ninguna, ninguno, vertical, "
          "enlace=, vínculo=, página=, idioma=, clase=",
    "fa": "بندانگشتی, انگشتدان, قاب, بی‌قاب, حاشیه, چپ, راست, وسط, هیچ, پیوند=, جایگزین=, ایستاده",
    "fi": "pienoiskuva, kehys, kehyksetön, reunus, vasen, oikea, keskellä, keskitetty, eimitään, linkki=, "
          "pysty",
    "fr": "vignette, cadre, encadré, sans_cadre, bordure, gauche, droite, centré, néant, redresse, "
          "redresse=, lien=, langue=, classe=, page=, vignette=",
    "he": "ממוזער, ממוסגר, מסגרת, לא ממוסגר, ללא מסגרת, גבול, שמאל, ימין, מרכז, ללא, ימין למעלה, קישור=, "
          "טקסט=, דף=, שפה=, מחלקה=, ממוזער=",
    "hi": "अंगूठाकार, अंगूठा, चौखट, फ़्रेम, फ्रेमहीन, बाएँ, बायें, दाएँ, दायें, केंद्र, केन्द्र, कोई_नहीं, "
          "किनारा, खड़ी, कड़ी=, पाठ=, पृष्ठ=",
    "hu": "bélyegkép, miniatűr, keretezett, keret, bal, balra, jobb, jobbra, középre, közép, semmi, link=, "
          "lap=",
    "hy": "մինի, մինիատյուր, փոքր, շրջափակել, առանցշրջափակման, եզրագծել, ձախից, աջից, կենտրոն, կենտրոնում, "
          "առանց, ուղիղ, վերև=, այլ=, հղում=, էջ=",
    "id": "jmpl, jempol, mini, bingkai, nirbing, tepi, kiri, kanan, pusat, pus, tanpa, pranala=, hal=",
    "it": "miniatura, min, riquadrato, incorniciato, senza_cornice, bordo, sinistra, destra, centro, "
          "nessuno, verticale, verticale=, pagina=, riquadro",
    "ja": "サムネイル, フレーム, フレームなし, 境界, ボーダー, 左, 右, 中央, なし, 無し, 代替文=, リンク=, "
          "ページ=, 上下=, 画像リンク=",
    "ko": "섬네일, 썸네일, 프레임, 프레임없음, 테두리, 왼쪽, 오른쪽, 가운데, 없음, 위오른쪽, 링크=, "
          "대체글=, 문서=, 언어=",
    "nl": "miniatuur, omkaderd, kaderloos, rand, links, rechts, gecentreerd, geen, rechtop, rechtop=, "
          "koppeling=, pagina=",
    "no": "miniatyr, ramme, ingenramme, rammeløs, kant, venstre, høyre, sentrer, senter, midtstilt, ingen, "
          "portrett, lenke=",
    "pl": "mały, miniatura, ramka, bezramki, tło, lewo, prawo, centruj, środek, brak, obramowanie, link=, "
          "alt=",
    "pt": "miniatura, miniaturadaimagem, moldura, commoldura, semmoldura, borda, esquerda, direita, "
          "centro, nenhum, superiordireito, ligação=, hiperligação=, página=, commoncat",
    "ru": "мини, миниатюра, обрамить, безрамки, граница, слева, справа, центр, без, сверхусправа, "
          "сверхусправа=, ссылка=, альт=, страница=, язык=, мини=, миниатюра=, класс=",
    "sv": "miniatyr, mini, ram, inramad, ramlös, kantlinje, vänster, höger, centrerad, ingen, stående, "
          "länk=, sida=",
    "th": "ธัมบ์เนล, ซ้าย, ขวา, กลาง, ไม่มี, กรอบ",
    "tr": "küçükresim, küçük, çerçeve, çerçeveli, çerçevesiz, sınır, sol, sağ, orta, merkez, yok, dikey, "
          "dikey=, bağlantı=, sayfa=",
    "uk": "міні, мініатюра, обрамити, рамка, безрамки, межа, границя, ліворуч, праворуч, центр, "
          "центрувати, без, зверхуправоруч, посилання=, альт=, сторінка=, мова=, вертикально, вертикально=",
    "vi": "nhỏ, khung, không_khung, viền, trái, phải, giữa, không, ngoài, đứng, đứng=, liên_kết=, "
          "thay_thế=, thế=, trang=, nhỏ=",
    "zh": "缩略图, 縮圖, 缩图, 有框, 无框, 無框, 边框, 邊框, 左, 右, 居中, 置中, 无, 無, 右上, 右上=, "
          "链接=, 連結=, 替代=, 替代文本=, 替代文字=, 页数=, 頁=",
}
_SIZE = re.compile(r"\d*(?:\s*x\s*\d+)?\s*(?:px|пкс\.?|píxeles|rpx|פיקסלים|بك|بكسل|εσ|պքս|փքս|ピクセル|像素|픽셀"
                   r"|पिक्सेल)\s*(?:px)?", re.IGNORECASE)


def _words() -> tuple[frozenset[str], frozenset[str]]:
    plain: set[str] = set()
    with_value: set[str] = set()
    for row in _WORDS.values():
        for word in row.split(","):
            name = word.strip().replace("_", " ").lower()
            (with_value if name.endswith("=") else plain).add(name.rstrip("="))
    return frozenset(plain), frozenset(with_value)


_PLAIN, _WITH_VALUE = _words()


def is_option(part: str) -> bool:
    """Whether what stands between two pipes of a picture lays it out and is no caption."""
    part = part.strip().replace("_", " ")
    name, equals, _ = part.partition("=")
    if equals:
        return name.rstrip().lower() in _WITH_VALUE
    return part.lower() in _PLAIN or _SIZE.fullmatch(part) is not None
