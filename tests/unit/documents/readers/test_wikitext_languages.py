"""Pages in many languages: the whole outline, with a dump's siteinfo and without, and redirects.

The pages in `tests/fixtures/pages` were written for these tests; each `.outline` was written by hand from
what a reader of the page sees: two spaces a level, tag with a section's level, attributes, own text.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.documents.readers.dump import iter_pages, read_site_info
from pipelines.documents.readers.siteinfo import SiteInfo
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.residue import find_node_residue
from pipelines.documents.tree import check_tree

PAGES = Path(__file__).parents[3] / "fixtures" / "pages"

# language: names of files, categories and templates there, and the word that begins a redirect
WIKIS = {
    "ar": ("ملف", "تصنيف", "قالب", "#تحويل"), "de": ("Datei", "Kategorie", "Vorlage", "#WEITERLEITUNG"),
    "el": ("Αρχείο", "Κατηγορία", "Πρότυπο", "#ΑΝΑΚΑΤΕΥΘΥΝΣΗ"),
    "es": ("Archivo", "Categoría", "Plantilla", "#REDIRECCIÓN"),
    "fr": ("Fichier", "Catégorie", "Modèle", "#REDIRECTION"), "he": ("קובץ", "קטגוריה", "תבנית", "#הפניה"),
    "hi": ("चित्र", "श्रेणी", "साँचा", "#पुनर्प्रेषित"), "hy": ("Պատկեր", "Կատեգորիա", "Կաղապար", "#ՎԵՐԱՀՂՈՒՄ"),
    "ja": ("ファイル", "カテゴリ", "テンプレート", "#転送"), "ko": ("파일", "분류", "틀", "#넘겨주기"),
    "ru": ("Файл", "Категория", "Шаблон", "#ПЕРЕНАПРАВЛЕНИЕ"),
    "th": ("ไฟล์", "หมวดหมู่", "แม่แบบ", "#เปลี่ยนทาง"),
    "uk": ("Файл", "Категорія", "Шаблон", "#ПЕРЕНАПРАВЛЕННЯ"),
    "vi": ("Tập tin", "Thể loại", "Bản mẫu", "#đổi"), "zh": ("File", "Category", "Template", "#重定向"),
}


def write_dump(path: Path, language: str, *, has_siteinfo: bool) -> Path:
    """A dump of two pages: the fixture, and a redirect to it."""
    file, category, template, redirect = WIKIS[language]
    names = "".join(f'<namespace key="{key}">{name}</namespace>' for key, name in
                    ((6, file), (10, template), (14, category)))
    siteinfo = f"<siteinfo><dbname>{language}wiki</dbname><namespaces>{names}</namespaces></siteinfo>"
    text = (PAGES / f"{language}.wikitext").read_text("utf-8")
    texts = ((1, "A", "", text), (2, "B", '<redirect title="A" />', f"{redirect} [[A]]"))
    pages = "".join(
        f"<page><title>{title}</title><ns>0</ns><id>{number}</id>{extra}<revision><id>{number}</id>"
        f"<text>{body.replace('&', '&amp;').replace('<', '&lt;')}</text></revision></page>"
        for number, title, extra, body in texts)
    path.write_text(f'<mediawiki xml:lang="{language}">{siteinfo if has_siteinfo else ""}{pages}</mediawiki>',
                    encoding="utf-8")
    return path


def outline(text: str, site: SiteInfo) -> list[str]:
    """The nodes below the root, one a line, as in the `.outline` files."""
    result = read_wikitext("A", text, site)
    check_tree("A", result.nodes)
    assert [piece for node in result.nodes for piece in find_node_residue(node)] == []
    lines = []
    for node in result.nodes[1:]:
        attributes = ", ".join(f"{key}={value}" for key, value in sorted(node.attrs.items()))
        name = f"{node.tag}{node.level or ''}{' {' + attributes + '}' if attributes else ''}"
        lines.append(f"{'  ' * (len(node.path) - 1)}{name} {node.text}".rstrip())
    return lines


@pytest.mark.parametrize("has_siteinfo", [True, False])
@pytest.mark.parametrize("language", WIKIS)
def test_page_of_a_language(tmp_path: Path, language: str, has_siteinfo: bool) -> None:
    dump = write_dump(tmp_path / "dump.xml", language, has_siteinfo=has_siteinfo)
    page, redirect = iter_pages(dump)
    site = read_site_info(dump)
    assert site.wiki == (f"{language}wiki" if has_siteinfo else None)
    expected = (PAGES / f"{language}.outline").read_text("utf-8").splitlines()
    assert outline(page.text or "", site) == expected
    assert (page.redirect_to, redirect.redirect_to) == (None, "A")


@pytest.mark.parametrize("language", sorted(set(WIKIS) - {"zh"}))
def test_names_of_a_language_are_known_without_siteinfo(language: str) -> None:
    file, category, template, _ = WIKIS[language]
    site = SiteInfo.unknown(language)
    assert [site.namespace_of(f"{name}:X") for name in (file, category, template)] == [
        (6, "X"), (14, "X"), (10, "X")]


def test_every_page_has_its_outline() -> None:
    assert {path.stem for path in PAGES.glob("*.wikitext")} == {path.stem for path in PAGES.glob("*.outline")} \
        == set(WIKIS)
