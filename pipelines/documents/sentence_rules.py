"""What does not end a sentence, by language: abbreviations, ordinals, scripts without capitals.

What belongs here: plain tables. A language is added by a line in `_ABBREVIATIONS`.
"""

from __future__ import annotations

_ABBREVIATIONS: dict[str, str] = {
    "en": """
        mr mrs ms dr prof st mt ft gen col lt capt sgt rev hon sr jr gov sen rep pres adm maj cmdr fig
        figs vol vols no nos p pp ed eds ch cf e.g i.e viz vs v etc al approx ca c est dept univ inc
        ltd co corp bros messrs jan feb mar apr jun jul aug sep sept oct nov dec u.s u.k u.n d.c a.m
        p.m b.c a.d b.c.e c.e ph.d m.d b.a m.a op ref sec art trans repr n.d lat long avg max min dist
        orig bap b d r fl m s ave blvd rd mon tue wed thu fri sat sun cap nat intl natl""",
    "de": """
        z.b d.h u.a bzw ca dr prof hl st nr str vgl usw etc bzgl evtl ggf inkl jh jhd mio mrd o.ä s.o
        s.u sog u.u v.chr n.chr chr z.t abs art bd bde ders ebd geb gest gegr hrsg jan feb mär apr jun
        jul aug sept okt nov dez engl frz griech lat ital span russ poln vs vol abb max min kap anm
        verh urspr eigtl allg i.d.r zz z.zt u d h z b a v n m o s t""",
    "fr": """
        m mm mme mlle dr pr st ste av apr j.-c c.-à-d p.ex ex env etc cf fig vol no n° p pp éd chap art
        janv févr juil sept oct nov déc hab lat long trad dir coll bd ch""",
    "es": """
        sr sra srta dr dra d dña ud uds ee.uu ee uu a.c d.c c etc p.ej ej pág págs vol núm n.º art cap fig
        aprox av st ed eds cf gral prof lic ing km""",
    "it": """
        sig sigg dott prof ing avv ecc es pag pagg vol n art cap fig a.c d.c s st on gen col cfr ed
        s.p.a c.a ca circa mons dr""",
    "pt": """
        sr sra dr dra prof d ex etc pág págs vol n.º art cap fig a.c d.c séc aprox av st ed cf gen eng""",
    "nl": """
        dr prof mr ir ing bijv bv d.w.z enz o.a m.b.t t.o.v v.chr n.chr nr blz ca st vs art vol fig jr
        sr resp evt incl excl jl""",
    "sv": """
        t.ex bl.a d.v.s dvs osv m.m m.fl s.k f.d ca kl nr s st dr prof jfr resp fr.o.m t.o.m f.kr e.kr
        bl a""",
    "pl": """
        np m.in tzn tj tzw itd itp prof dr hab inż mgr św ul al pl nr s str r w wg ok zob por gen płk
        kpt ks bp abp red wyd t ur zm p.n.e n.e ang niem fr łac ros gr wł im pt""",
    "cs": """
        např tzv tzn tj atd apod prof dr ing mgr sv ul č str s r st resp popř ap př.n.l n.l ang angl
        něm fr lat gen kpt nar zemř cca mj""",
    "ru": """
        т.е т.д т.п т.к т.н др пр г гг в вв см ср им ул пл пер обл р рр н.э до проф акад доц д.м.н ред
        изд с стр т тт гл рис табл тыс млн млрд руб коп кв куб св ок напр англ нем фр лат греч итал исп
        яз род ум ген полк кап о оз м мин сек ч шт экз чел""",
    "uk": """
        т.д т.п т.к т.зв тзв ін р рр ст див пор ім вул пл пров обл н.е до проф акад доц ред вид с стор
        т тт гл рис табл тис млн млрд грн коп кв куб св бл напр англ нім фр лат грец італ ісп рос пол
        укр нар пом ген полк о оз м хв сек год чол смт ок""",
    "be": """
        г гг ст гл см ім вул т.д т.п тыс млн млрд напр англ ням лац грэч руск р в с стар т рэд выд праф
        акад""",
    "bg": """
        г гг т.е т.н т.нар др вж ср св ул бул пл проф акад д-р инж ген полк пр.хр сл.хр напр англ нем
        фр лат гр хил млн млрд лв ст с стр т""",
    "sr": """
        г год тзв тј нпр итд др проф инж св ул бр стр н.е п.н.е ген пук енг нем лат р в""",
    "el": """
        π.χ μ.χ κ.λπ κλπ κ.ά κ.α δηλ βλ πρβλ σ σσ τ κ δρ καθ αι αγ αρ αγγλ γαλλ γερμ λατ ιταλ εκ δις
        χιλ στρ υπ ό.π""",
    "tr": """
        dr prof doç av st no s sf vb vs örn mö ms m.ö m.s yy bkz cad sok mah ing fr alm lat t.c a.ş ltd""",
    "hy": """
        մ.թ մ.թ.ա թ թթ հ.հ դ դդ կմ մլն մլրդ պրոֆ ակադ տե՛ս էջ էջեր հատ խմբ օր""",
    "vi": """
        tp gs ts ths bs pgs tr tk vv v.v st dr mr mrs prof""",
    "hu": """
        pl kb stb ún dr prof szt u.n id ifj sz i.e i.sz kr.e kr.u ld vö old tel""",
    "fi": """
        esim mm ym jne ks vrt n eaa jaa eKr jKr prof tri nk s so ts""",
    "da": """
        f.eks bl.a dvs osv m.m ca nr kl s st dr prof jf f.kr e.kr hhv mht inkl""",
    "no": """
        f.eks bl.a dvs osv m.m ca nr kl s st dr prof jf f.kr e.kr hhv inkl""",
    "lv": """
        piem u.c utt t.i dr prof sv g gs p.m.ē m.ē lpp nr sk plkst apm""",
    "ltg": """
        g p.m.ā m.ā t.i u.c sv nr lpp""",
    "id": """
        dr prof ir h hj drs st no hlm dll dsb dst yth tn ny kec kab jl""",
    "ca": """
        sr sra dr dra st sta p.ex etc pàg vol núm art cap fig aprox av aC dC a.c d.c""",
    "ro": """
        dl dna dr prof sf str nr pag vol etc ex cca î.hr d.hr î.e.n a.c""",
}

ABBREVIATIONS: dict[str, frozenset[str]] = {
    language: frozenset(words.lower().split()) for language, words in _ABBREVIATIONS.items()
}
ABBREVIATIONS["simple"] = ABBREVIATIONS["en"]
ABBREVIATIONS["nn"] = ABBREVIATIONS["nb"] = ABBREVIATIONS["no"]
ABBREVIATIONS["sh"] = ABBREVIATIONS["hr"] = ABBREVIATIONS["bs"] = ABBREVIATIONS["sl"] = ABBREVIATIONS["cs"]
ABBREVIATIONS["sk"] = ABBREVIATIONS["cs"]

_ORDINALS = """
    de cs sk da no nn nb fi hu pl sl hr bs sh sr lv ltg et is tr hsb dsb lb als bar
"""
ORDINAL_LANGUAGES = frozenset(_ORDINALS.split())
"""Languages that write `3. Oktober`: a number with a point is an ordinal, not the end of a sentence."""

STARTS_LOWER: frozenset[str] = frozenset()
"""Languages whose sentences may begin with a small letter."""
