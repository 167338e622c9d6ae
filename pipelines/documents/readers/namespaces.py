"""Names of namespaces, languages and sister projects as they stand in front of a link's colon.

What belongs here: plain tables and their look-up. A dump's own siteinfo comes first; the tables serve
dumps without one. A language is added by a line in `_LOCAL_NAMES`.
"""

from __future__ import annotations

CATEGORY, FILE, TEMPLATE = 14, 6, 10


def name_set(names: str) -> frozenset[str]:
    """The names of a text, which are separated by space."""
    return frozenset(names.split())


CANONICAL: dict[str, int] = {
    "media": -2, "special": -1, "talk": 1, "user": 2, "user talk": 3, "project": 4, "project talk": 5,
    "wikipedia": 4, "wikipedia talk": 5, "file": 6, "image": 6, "file talk": 7, "image talk": 7,
    "mediawiki": 8, "mediawiki talk": 9, "template": 10, "template talk": 11, "help": 12, "help talk": 13,
    "category": 14, "category talk": 15, "portal": 100, "portal talk": 101, "book": 108, "draft": 118,
    "timedtext": 710, "module": 828, "module talk": 829, "wp": 4, "wt": 5,
}
"""Canonical English names and common aliases, lower case, with spaces."""

# language: (file names, category names, template names)
_LOCAL_NAMES: dict[str, tuple[str, str, str]] = {
    "af": ("lêer beeld", "kategorie", "sjabloon"), "ar": ("ملف صورة", "تصنيف", "قالب"),
    "az": ("fayl şəkil", "kateqoriya", "şablon"), "be": ("файл выява", "катэгорыя", "шаблон"),
    "bg": ("файл картинка", "категория", "шаблон"), "bn": ("চিত্র", "বিষয়শ্রেণী", "টেমপ্লেট"),
    "bs": ("datoteka slika", "kategorija", "šablon"), "ca": ("fitxer imatge", "categoria", "plantilla"),
    "cs": ("soubor", "kategorie", "šablona"), "cy": ("delwedd", "categori", "nodyn"),
    "da": ("fil billede", "kategori", "skabelon"), "de": ("datei bild", "kategorie", "vorlage"),
    "el": ("αρχείο εικόνα", "κατηγορία", "πρότυπο"), "eo": ("dosiero", "kategorio", "ŝablono"),
    "es": ("archivo imagen", "categoría", "plantilla"), "et": ("pilt", "kategooria", "mall"),
    "eu": ("fitxategi irudi", "kategoria", "txantiloi"), "fa": ("پرونده تصویر", "رده", "الگو"),
    "fi": ("tiedosto kuva", "luokka", "malline"), "fr": ("fichier image", "catégorie", "modèle"),
    "gl": ("ficheiro imaxe", "categoría", "modelo"), "he": ("קובץ תמונה", "קטגוריה", "תבנית"),
    "hi": ("चित्र", "श्रेणी", "साँचा"), "hr": ("datoteka slika", "kategorija", "predložak"),
    "hu": ("fájl kép", "kategória", "sablon"), "hy": ("պատկեր ֆայլ", "կատեգորիա", "կաղապար"),
    "id": ("berkas gambar", "kategori", "templat"), "is": ("mynd", "flokkur", "snið"),
    "it": ("file immagine", "categoria", "template"), "ja": ("ファイル 画像", "カテゴリ", "テンプレート"),
    "ka": ("ფაილი სურათი", "კატეგორია", "თარგი"), "kk": ("сурет файл", "санат", "үлгі"),
    "ko": ("파일 그림", "분류", "틀"), "la": ("fasciculus imago", "categoria", "formula"),
    "lt": ("vaizdas", "kategorija", "šablonas"), "ltg": ("fails attāls", "kategoreja", "šablons"),
    "lv": ("attēls", "kategorija", "veidne"), "mk": ("податотека слика", "категорија", "шаблон"),
    "ml": ("പ്രമാണം", "വർഗ്ഗം", "ഫലകം"), "mr": ("चित्र", "वर्ग", "साचा"),
    "ms": ("fail imej", "kategori", "templat"), "nl": ("bestand afbeelding", "categorie", "sjabloon"),
    "nn": ("fil", "kategori", "mal"), "no": ("fil bilde", "kategori", "mal"),
    "pl": ("plik grafika", "kategoria", "szablon"),
    "pt": ("ficheiro imagem arquivo", "categoria", "predefinição"),
    "ro": ("fișier imagine", "categorie", "format"), "ru": ("файл изображение", "категория", "шаблон"),
    "sh": ("datoteka slika", "kategorija", "šablon"), "sk": ("súbor obrázok", "kategória", "šablóna"),
    "sl": ("slika datoteka", "kategorija", "predloga"), "sq": ("skeda figura", "kategoria", "stampa"),
    "sr": ("датотека слика", "категорија", "шаблон"), "sv": ("fil bild", "kategori", "mall"),
    "ta": ("படிமம்", "பகுப்பு", "வார்ப்புரு"), "te": ("దస్త్రం బొమ్మ", "వర్గం", "మూస"),
    "th": ("ไฟล์ ภาพ", "หมวดหมู่", "แม่แบบ"), "tl": ("talaksan", "kategorya", "padron"),
    "tr": ("dosya resim", "kategori", "şablon"), "tt": ("файл рәсем", "төркем", "калып"),
    "uk": ("файл зображення", "категорія", "шаблон"), "ur": ("ملف تصویر", "زمرہ", "سانچہ"),
    "uz": ("fayl tasvir", "turkum", "andoza"), "vi": ("tập_tin hình", "thể_loại", "bản_mẫu"),
    "zh": ("文件 图像 檔案 圖像 档案", "分类 分類", "模板 樣板"),
}

_LANGUAGES = name_set("""
aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba ban
bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug bxr ca
cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq dsb dtp dty dv dz
ee el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr fur fy ga gag gan gcr gd gl glk
gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig
igl ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd kbp kcg kg kge ki kj kk kl km kn knc ko koi
kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai
map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo mos mr mrj ms mt mus mwl my myv mzn na nah nan nap nb
nds nds-nl ne new ng nia nl nn no nov nqo nr nrm nso nup nv ny oc olo om or os pa pag pam pap pcd pcm
pdc pdt pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup roa-tara rsk ru rue rup rw sa sah
sat sc scn sco sd se sg sgs sh shi shn si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw
syl szl szy ta tay tcy tdd te tet tg th ti tig tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk
ur uz ve vec vep vi vls vo vro wa war wo wuu xal xh xmf yi yo yue za zea zgh zh zh-classical zh-min-nan
zh-yue zu cz dk jp nan minnan zh-cn zh-tw
""")

PROJECTS = name_set("""
w wikt wiktionary wikipedia commons c s wikisource q wikiquote b wikibooks n wikinews v wikiversity d
wikidata m meta species wikispecies voy wikivoyage mw mediawikiwiki foundation f wmf phab bugzilla
iarchive doi
""")
"""Prefixes of sister projects and other sites: their links show their text and stay."""


def local_names(language: str) -> dict[str, int]:
    """Namespace names of a language, lower case with spaces; without a language those of all."""
    rows = ([_LOCAL_NAMES[language]] if language in _LOCAL_NAMES else [] if language
            else list(_LOCAL_NAMES.values()))
    names: dict[str, int] = {}
    for row in rows:
        for number, words in zip((FILE, CATEGORY, TEMPLATE), row, strict=True):
            names.update((word.replace("_", " "), number) for word in words.split())
    return names


_ALL_NAMES = local_names("")


def is_file_prefix(prefix: str) -> bool:
    """Whether any language calls its pictures so."""
    return _ALL_NAMES.get(" ".join(prefix.replace("_", " ").split()).lower()) == FILE


def is_language(prefix: str) -> bool:
    """Whether a link's prefix is a Wikipedia language code, so that `[[de:Eulen]]` is a language link."""
    return prefix.lower() in _LANGUAGES
