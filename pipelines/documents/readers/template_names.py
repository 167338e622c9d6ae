"""Template names: those that go by a rule, and what templates of other languages are called in English.

What belongs here: plain tables of names in lower case. To let a template go, add its name to its rule in
`_RULES`; to give one of another language an English one's handler, add a line to `_IN_ENGLISH`.
"""

from __future__ import annotations

import re

from pipelines.documents.readers.namespaces import name_set

PARSER_FUNCTIONS = name_set("""
defaultsort displaytitle formatnum lc uc lcfirst ucfirst plural grammar gender ns urlencode
anchorencode padleft padright fullurl localurl filepath int pagename fullpagename numberofarticles
numberofusers defaultsortkey defaultcategorysort sortkey ключ_сортировки сортування сортиране ordena
sortierung
""")

_RULES: dict[str, str] = {
    "references": """
        reflist|references|refs|refn|efn|efn-ua|efn-lr|sfn|sfnp|sfnm|sfnmp|sfnref|sfnote|
        harvid|r|rp|ref|note|notes|notelist|notefoot|notetag|refbegin|refend|cite ref|
        ref label|note label|ref_label|note_label|cnote|cref|inflation-fn|inflation-year|
        list-defined references|footnotes|notelist-ua|fn|fnb|ref num|#tag|ref-num|wikicite|
        anchor|visible anchor list|isfn|shortened footnote template|harvc|adn|nb|
        un population""",
    "maintenance": """
        citation needed|cn|fact|clarify|when|who|which|by whom|where|why|how|page needed|pn|
        better source|dubious|better source needed|failed verification|verify source|
        verification needed|refimprove|unreferenced|unreferenced section|refimprove section|
        more citations needed|expand section|expand|cleanup|update|update section|
        update after|update inline|multiple issues|more footnotes|no footnotes|pov|npov|
        pov-section|original research|synthesis|tone|copy edit|globalize|relevance inline|
        dead link|deadlink|dead-link|use dmy dates|use mdy dates|use british english|
        use american english|use australian english|use canadian english|use indian english|
        use oxford spelling|engvarb|use list-defined references|use shortened footnotes|
        good article|featured article|featured list|pp-move-indef|pp-move|pp-semi-indef|
        pp-protected|pp-pc1|pp|pp-vandalism|pp-semi|pp-template|pp-semi-protected|bots|
        nobots|short description|technical reasons|prone to spam|qualify evidence|
        lead too short|lead too long|lead missing|very long|essay-like|weasel|in use|
        under construction|merge|merge to|merge from|split|move|confusing|context|
        original research inline|or|vague|ambiguous|contradict-inline|contradict inline|
        citation style|improve categories|uncategorized|stub|tone inline|peacock|undue|
        unbalanced|neutrality|jargon|dablinks|not verified in body|nbsp-check|
        additional citation needed|medical citations needed|full citation needed|
        primary source inline|primary sources|third-party|one source|self-published source|
        self-published inline|specify|discuss|check|inc|date missing|year needed|full|
        time needed|non-primary source needed|attribution|cs1 config|link rot|bare urls|
        over-quotation|repetition|recentism|notability|orphan|format price|italic title|
        italictitle|lowercase|lowercase title|
        wrongtitle|restricted use|disputed|disputed-inline|disputed inline|speculation|
        weasel inline|weasel-inline|overly detailed|trivia|manual|example farm|story|plot|
        in popular culture|religious text primary|refimprovesect|cleanup section|examples|
        excessive examples|image requested|photo requested""",
    "navigation": """
        main|main article|main articles|see also|see|see main|further|further information|
        details|details3|about|other uses|other uses2|otheruses|other people|other places|
        redirect|redirect2|redirects here|for|distinguish|hatnote|for2|this|about2|confused|
        not to be confused with|main category|category main|selfref|self-reference tool|
        latin letter info|main list|articles|related articles|commons category|commons|
        commons category-inline|commons cat|commonscat|commonscat-inline|commons-inline|
        wiktionary|wiktionary-inline|wikiquote|wikiquote-inline|wikisource|
        wikisource-inline|wikisource author|wikibooks|wikibooks-inline|wikinews|wikispecies|
        wikiversity|wikivoyage|wikivoyage-inline|wikivoyage inline|wikiatlas|wikimedia|
        sister project links|sisterlinks|sister project|sister bar|wikipedia books|portal|
        portal bar|portal-inline|portal inline|subject bar|authority control|navboxes|
        navboxes top|navboxes bottom|navbox|navbar|succession box|s-start|s-bef|s-ttl|s-aft|
        s-end|s-break|s-hou|s-off|s-ach|s-new|s-vac|s-non|s-reg|s-ppo|s-inc|s-legal|s-rel|
        s-aca|s-prec|s-sports|s-media|s-culture|s-civ|s-mil|s-gov|s-par|toc|toc left|
        toc right|toc limit|toclimit|tocright|tocleft|compact toc|compacttoc|horizontal toc|
        alphatoc|alphatoc2|spoken wikipedia|spoken wikipedia boxes|library resources box|
        library resources about|dmoz|clear|clearleft|clearright|clear left|clear right|-|
        clr|br|break-clear|geographic location|sidebar|sidebar with collapsible lists|
        in our time|worldcat id|internet archive author|librivox author|gutenberg author|
        ol author|lookfrom|intitle|portal:|featured portal|wikiproject|related|
        adjacent stations|succession|seealso|subpages|skip to toc|shortcut|noteta|notta|
        category see also|cat main|catmore|category|cat diffuse|geographic location 2|
        compass|location map|location map+|location map~|location map many|
        pronunciation needed|listen|audio|spoken article|campaignbox|bookshelf|wikidata|
        interwiki extra|link ga|link fa|link fl|interlanguage link fa|wikitongues|
        reference page|osm relation|graph:chart|osmrelation-inline|nyttopic|template:portal|
        maplink|mapframe|graph|osm location map|chart top|featured|
        subscription or libraries|subscription required|subscription|registration required|
        registration""",
    "layout": """
        div col|div col end|col-begin|col-end|col-break|col-2|col-3|col-4|col-5|col-1-of-2|
        colbegin|colend|columns|col begin|col end|col break|multicol|multicol-break|
        multicol-end|top|mid|bottom|hidden begin|hidden end|collapse top|collapse bottom|
        cob|cot|stack|stack begin|stack end|stack top|stack bottom|small div|end div|end|s|
        nobr begin|reduced pull|-end|fb end|image frame|pad|table alignment|sticky header|
        static row numbers|row hover highlight|sort under|mw-datatable|import style|rh|
        sronly|float begin|float end|end float|clear both|startplainlist|endplainlist|
        plainlist begin|flatlist begin|end plainlist|endflatlist|start plainlist|
        startflatlist|start flatlist|end flatlist|div flex row|div flex row end|
        legend striped|color box|colorbox|color sample|gallery layout|hidden sort key|hs|
        spacer|0|px0|pad2|table cell templates|sort key|sortname key|css image crop|
        bq start|bq end|flagdeco|flagicon image|flagicon|flag icon|noflag|increase|decrease|
        steady|increase negative|decrease positive|up|down|profit|loss|coat of arms|no flag|
        nochange|icon|image|invisible|mdash-clear|sp ace|anchors|vanchor list|su""",
    "disambiguation": """
        disambiguation|disambig|dab|disamb|hndis|geodis|disambiguation page|surname|
        given name|hospitaldis|letter-numbercombdisambig|letter disambiguation|mathdab|
        numberdis|roaddis|schooldis|chinese title disambiguation|taxonomy disambiguation|
        species latin name disambiguation|airport disambiguation|disambiguation cleanup|
        disambig-cleanup|disam|human name disambiguation|place name disambiguation|
        callsigndis|genus disambiguation|portal disambiguation|begriffsklärung|homonymie|
        disambigua|desambiguación|desambiguação|doorverwijspagina|dp|неоднозначность|
        багатозначність|неоднозначнасць|многозначност|вишезначна одредница|
        višeznačna odrednica|višeznačnost|rozcestník|ujednoznacznienie|täsmennyssivu|
        förgrening|flertydig|flertydigsside|aimai|曖昧さ回避|消歧义|消歧義|동음이의|
        동음이의어 문서|توضيح|ابهام‌زدایی|פירושונים|αποσαφήνιση|αποσαφ|egyértelmű|egyért|
        dezambiguizare|anlam ayrımı|täpsustuslehekülg|nuorodinis straipsnis|
        nozīmju atdalīšana|argipen orri|homònims|desambiguació|đa nghĩa|trang định hướng|
        định hướng|bazmimastutyun|բազմիմաստություն|բիմ|երկիմաստ|მრავალმნიშვნელოვანი|
        dəqiqləşdirmə|айрық|disambiguasi|nyahkekaburan|बहुविकल्पी|দ্ব্যর্থতা নিরসন|แก้กำกวม|
        apartigilo|razločitev|rozlišovacia stránka|aðgreining|zeimeibu škiršona|
        homonymie de nomenclature|toponymie|patronyme|paronymie|einzelbegriffsklärung|
        обединување|појаснување|kthjellim|neadnoznačnost""",
}

_STARTS = (
    ("user ", "navigation"), ("pp-", "maintenance"), ("campaignbox", "navigation"),
    ("navbox", "navigation"), ("use ", "maintenance"), ("link ", "navigation"),
    ("wikisource", "navigation"), ("wiktionary", "navigation"), ("wikiquote", "navigation"),
    ("portal", "navigation"), ("sidebar", "navigation"), ("more citations", "maintenance"),
    ("refimprove", "maintenance"), ("unreferenced", "maintenance"), ("cleanup", "maintenance"),
    ("commons", "navigation"), ("disambiguation", "disambiguation"), ("vpn", "maintenance"),
)
_ENDS = re.compile(
    r"(?P<stub>(?:^|[ -])stub$|sơ khai$|անավարտ$)"
    r"|(?P<nav> topics?$| sidebar$| navbox$| navigation$| nav$| in topic$"
    r"|^countries of | series$| footer$| portal$)|(?P<disamb>\(disambiguation\)$)")

_IN_ENGLISH = """
hy: լեգենդ=legend; մհա=ipa; նիհոնգո=nihongo; տես=see also; պարզաբանագիր=layout box; նվազում=decrease
hy: մասին=about; չշփոթել=distinguish; պանորամա=wide image; երկակի պատկեր=double image
hy: ընտրյալ հոդված=featured article
hy: հիմնական=main; հիմնական հոդված=main; ծանցանկ=reflist
hy: արտաքին հղումներ=navigation box; դրոշավորում=flagcountry; դրոշ=flag
hy: հսհ=navigation box; վպե=navigation box; տես նաև=see also
hy: այլ կիրառումներ=other uses; չաշխատող արտաքին հղում=dead link; պորտալ=portal
hy: քաղվածք=quote; անաղբյուր=citation needed; փաստ=citation needed; անավարտ=stub
hy: սյուն=div col; սյուն ավարտ=div col end; սյունակ ավարտ=div col end; աճ=increase
hy: այլ=other uses; ն=efn; վիքիբառարան=wiktionary; վիքիքաղվածք=wikiquote
hy: օրվա հոդված նախագծի մասնակից=navigation box; բազմապատիկ պատկերներ=multiple image
hy: ծանոթ=reflist; վիքիպահեստ=commons; միապետություններ=navigation box
hy: իսկ և իսկ=see also; համայնապատկեր=wide image; վերջ=div col end
hy: ռուսերեն գիրք=cite book
vi: ngày sinh=birth date; ngày sinh và tuổi=birth date and age; ngày mất=death date
vi: ngày mất và tuổi=death date and age; ngày bắt đầu=start date; ngày bắt đầu và tuổi=start date
vi: ngày thành lập và tuổi=start date; tính đến=as of; về=about; bài chi tiết=main; britannica=navigation box
vi: số năm theo năm và ngày=layout box; đổi hướng=redirect; chi tiết=main; dablink=hatnote; cref2=efn
vi: cần số trang=page needed; trang web chính thức=official website; căn giữa=center; cờ 2=flag
vi: chính=main; tham khảo=reflist; chú thích sách=cite book; chú thích web=cite web
vi: chú thích tạp chí=cite journal; chú thích=citation; chú thích báo=cite news
vi: xem thêm=see also; thể loại commons=commons category; bài chính=main
vi: kiểm soát tính nhất quán=authority control; chú thích trong bài=citation needed
vi: cần chú thích=citation needed; liên kết hỏng=dead link; sơ khai=stub
vi: bài cùng tên=other uses; sao chọn lọc=featured article; thanh chủ đề=portal bar
vi: biểu tượng lá cờ=flagicon; lá cờ=flag; đang dịch=in use; các chủ đề=navigation box
vi: fact=citation needed; cờ=flag; thời gian sống=defaultsort
vi: lịch tháng này=navigation box; tđbkvn=navigation box
vi: 1000 bài cơ bản=navigation box
ltg: nadabeigts rakstīņs=stub; nūruodis=reflist; eiss rakstīņs=stub
ltg: vierteigs rakstīņs=featured article
ru: основная статья=main; см. также=see also; примечания=reflist; книга=cite book
ru: статья=cite journal; публикация=cite book; нет аи=citation needed; флаг=flagicon
ru: флагификация=flag; заготовка=stub; изолированная статья=orphan; м.=m.
ru: wikidata=navigation box; вс=navigation box
ru: родственные проекты=sister project links; внешние ссылки=navigation box
ru: библиоинформация=authority control; нп5=ill; нп3=ill; не переведено=ill; нп=ill
ru: s=nowrap; число=formatnum; месяцы=navigation box; lang-en2=lang2
ru: начало цитаты=bq start; конец цитаты=bq end; цитата=quote; викисловарь=wiktionary
ru: перевод=nowrap
uk: основна стаття=main; див. також=see also; примітки=reflist; reflist2=reflist
uk: без джерел=unreferenced; флаг=flagicon; прапорець=flagicon; прапор=flag
uk: не перекладено=ill; нп=ill; портали=portal; бібліоінформація=authority control
uk: джерело=citation needed; книга=cite book; стаття=cite journal; cite web2=cite web
uk: доробити=stub; перекладено=ill
de: hauptartikel=main; siehe auch=see also; normdaten=authority control
de: literatur=cite book; internetquelle=cite web; dieser artikel=other uses
de: commonscat=commons; belege fehlen=unreferenced; lückenhaft=expand section
de: zitat=quote; weiterleitungshinweis=redirect; lesenswert=good article
de: exzellent=featured article; navigationsleiste=navbox
de: begriffsklärungshinweis=other uses; schweizbezogen=maintenance box; "=quote
de: zitat-en=quote; wiktionary=wiktionary
fr: article détaillé=main; voir aussi=see also; références=reflist; ouvrage=cite book
fr: lien web=cite web; article=cite journal; référence nécessaire=citation needed
fr: portail=portal; palette=navbox; autres projets=sister project links
fr: citation bloc=quote; drapeau=flagicon; drapeau2=flagicon; unité=unité
fr: nombre=formatnum; date-=date; date=date; ébauche=stub; lien=ill; s-=siècle
fr: siècle=siècle; s mini-=siècle; voir homonymes=other uses; colonnes=div col
fr: fin de colonnes=div col end; citation=quoted; citation étrangère=quoted
fr: guil=quoted; langue=lang; bases=authority control; liens=authority control
es: ap=main; artículo principal=main; véase también=see also; listaref=reflist
es: cita=quote; cita requerida=citation needed; bandera=flagicon; bandera2=flag
es: control de autoridades=authority control; esbozo=stub; otros usos=other uses
es: cita libro=cite book; cita web=cite web; cita publicación=cite journal
es: unidad=unité; otros proyectos=sister project links
it: vedi anche=main; vedi categoria=main; portale=portal
it: interprogetto=sister project links; senza fonte=citation needed
it: controllo di autorità=authority control; s=stub; torna a=navigation box
it: cita libro=cite book; cita web=cite web; bandiera=flagicon
it: collegamenti esterni=navigation box; nota disambigua=other uses; citazione=quote
it: formatnum=formatnum; avvisounicode=navigation box
pt: referências=reflist; artigo principal=main; ver também=see also
pt: citar livro=cite book; citar web=cite web; carece de fontes=citation needed
pt: esboço=stub; controle de autoria=authority control; correlatos=sister project links
pt: flagicon=flagicon; portal3=portal
pl: przypisy=reflist; główny artykuł=main; osobny artykuł=main; cytuj książkę=cite book
pl: cytuj stronę=cite web; cytuj=citation; fakt=citation needed
pl: kontrola autorytatywna=authority control; siostrzane projekty=sister project links
pl: flaga=flagicon; inne znaczenia=other uses; cytat=quote; zobacz też=see also
pl: dopracować=cleanup; r=references box; u=references box
nl: zie hoofdartikel=main; appendix=reflist; bron?=citation needed; beginnetje=stub
nl: citeer boek=cite book; citeer web=cite web; references=reflist; zie ook=see also
nl: zijbalk=sidebar; navigatie=navbox; bibliografische informatie=authority control
nl: citaat=quote
sv: huvudartikel=main; se även=see also; källa behövs=citation needed; bokref=cite book
sv: webbref=cite web; auktoritetsdata=authority control; stub=stub; flaggbild=flagicon
sv: olika betydelser=other uses; ej översatt=ill; citat=quote; noter=reflist
el: κύριο=main; κύριο άρθρο=main; δείτε=see also; παραπομπές=reflist
el: commonscat=commons; επέκταση=stub; πηγή=citation needed; σημαία=flagicon
el: flagcountry=flag; authority control=authority control; άλλεςχρήσεις=other uses
el: άλλες χρήσεις=other uses
tr: ana=main; ana madde=main; kaynakça=reflist; kitap kaynağı=cite book
tr: web kaynağı=cite web; bayrak=flagicon; taslak=stub
tr: otorite kontrolü=authority control; diğer anlamı=other uses
tr: kaynak belirt=citation needed; anlam ayrım=disambiguation
ar: مفصلة=main; رئيسي=main; مراجع=reflist; انظر أيضا=see also
ar: بحاجة لمصدر=citation needed; استشهاد بكتاب=cite book; بذرة=stub
ar: استشهاد ويب=cite web; استشهاد بدورية محكمة=cite journal
ar: ضبط استنادي=authority control; شريط بوابات=portal bar; اقتباس=quote
fa: اصلی=main; پانویس=reflist; یادکرد کتاب=cite book; یادکرد وب=cite web
fa: مدرک=citation needed; خرد=stub; به انگلیسی=lang-en
he: הפניה לערך מורחב=main; הערות שוליים=reflist; ציטוט=quote
he: בקרת זהויות=authority control; קצרמר=stub; מקור=citation needed
ja: main2=main; 脚注ヘルプ=references box; reflist2=reflist; 出典の明記=unreferenced
ja: 要出典=citation needed; 仮リンク=ill; normdaten=authority control
ja: flagicon2=flagicon; cite book2=cite book; otheruses=other uses; ルビ=first
zh: 主条目=main; 主條目=main; link-en=ill; le=ill; tsl=ill; internal link helper/en=ill
zh: 来源请求=citation needed; 事实=citation needed; bd=bd; 參見=see also; 参见=see also
zh: notelist2=notelist; 规范控制=authority control; 權威控制=authority control
zh: noteta=noteta
ko: 본문=main; 각주=reflist; 출처=unreferenced; 출처 필요=citation needed
ko: 국기=flagicon; 국기그림=flagicon; 전거 통제=authority control; 토막글=stub
""".strip()


def _aliases() -> dict[str, str]:
    names: dict[str, str] = {}
    for line in _IN_ENGLISH.split("\n"):
        for pair in line.partition(": ")[2].split("; "):
            name, _, english = pair.partition("=")
            if name.strip() != english.strip():
                names.setdefault(name.strip(), english.strip())
    return names


ALIASES: dict[str, str] = {
    **_aliases(),
    "ill": "ill", "interlanguage link": "ill", "interlanguage link multi": "ill", "cvt": "convert",
    "convinfobox": "convert", "flagcountry": "flag", "flagg": "flag", "flagu": "flag",
    "country flag": "flag", "blockquote": "quote", "bquote": "quote", "cquote": "quote",
    "rquote": "quote", "quotation": "quote", "quote box": "quote", "quotebox": "quote",
    "pull quote": "quote", "centered pull quote": "quote", "block quote": "quote",
    "epigraph": "quote", "verse translation": "quote", "poemquote": "poem quote",
    "poem": "poem quote", "ubl": "unbulleted list", "vunblist": "unbulleted list",
    "unbullet": "unbulleted list", "ublist": "unbulleted list",
    "unbulletedlist": "unbulleted list", "flatlist": "plainlist", "plain list": "plainlist",
    "bulleted list": "unbulleted list", "blist": "unbulleted list", "olist": "ordered list",
    "columns-list": "plainlist", "columnslist": "plainlist", "column list": "plainlist",
    "columns list": "plainlist", "transliteration": "transl", "translit": "transl",
    "langx": "lang-x", "lang-xx": "lang-x", "fraction": "frac", "sfrac": "frac",
    "start date": "date", "end date": "date", "start-date": "date text", "end-date": "date text",
    "birth date": "date", "death date": "date", "film date": "date",
    "birth date and age": "birth date and age", "bda": "birth date and age", "dob": "date",
    "dda": "death date and age", "release date": "date", "circa": "circa", "c.": "circa",
    "ca.": "circa", "number": "formatnum", "nts": "formatnum", "format number": "formatnum",
    "#formatdate": "first", "dts": "date", "citation": "cite", "vcite book": "cite",
}
"""Other names of templates, in lower case: the name whose handler they get."""

for _name in list(ALIASES):
    # A foreign name may lead to an English alias: follow it to the end.
    for _ in range(4):
        ALIASES[_name] = ALIASES.get(ALIASES[_name], ALIASES[_name])

_RULE_BY_NAME: dict[str, str] = {
    name.strip(): rule for rule, names in _RULES.items() for name in names.replace("\n", "").split("|")
}
_RULE_BY_NAME.update({"navigation box": "navigation", "maintenance box": "maintenance", "layout box": "layout",
                      "references box": "references"})
_KNOWN: dict[str, str | None] = {}


def rule_of(name: str) -> str | None:
    """The rule by which templates of this name (lower case, English where there is an alias) go, or None."""
    if name in _RULE_BY_NAME:
        return _RULE_BY_NAME[name]
    if name not in _KNOWN:
        if len(_KNOWN) > 50_000:
            _KNOWN.clear()
        _KNOWN[name] = _rule_by_pattern(name)
    return _KNOWN[name]


def _rule_by_pattern(name: str) -> str | None:
    for start, rule in _STARTS:
        if name.startswith(start):
            return rule
    match = _ENDS.search(name)
    if match is None:
        return None
    return {"stub": "maintenance", "nav": "navigation", "disamb": "disambiguation"}[str(match.lastgroup)]
