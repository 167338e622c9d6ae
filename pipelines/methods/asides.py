"""Asides: lines that point elsewhere or stand below a picture, and seldom say what a question asks for.

What belongs here: which lines of a view these are. What does not: what becomes of them (`rdr2.py` proposes them
after all others). A section of links is known by its heading, in the languages below; an aside in another
language is proposed like any other line.
"""

from __future__ import annotations

from pipelines.methods.subtree import SubtreeView

SECTIONS = frozenset({
    "external links", "references", "see also", "further reading", "notes", "footnotes", "bibliography", "sources",
    "citations", "notes and references", "other websites", "related pages",
    "weblinks", "einzelnachweise", "siehe auch", "literatur", "anmerkungen",
    "liens externes", "références", "voir aussi", "articles connexes", "notes et références", "bibliographie",
    "enlaces externos", "referencias", "véase también", "bibliografía", "notas",
    "collegamenti esterni", "altri progetti", "voci correlate", "note", "bibliografia",
    "ligações externas", "referências", "ver também",
    "externe links", "zie ook", "linki zewnętrzne", "przypisy", "zobacz też",
    "ссылки", "примечания", "см. также", "литература", "посилання", "примітки", "див. також", "джерела",
    "література",
    "liên kết ngoài", "tham khảo", "xem thêm", "chú thích",
    "外部リンク", "脚注", "関連項目", "参考文献", "出典",
    "外部链接", "外部連結", "参考资料", "參考資料", "参见", "參見",
    "외부 링크", "각주", "같이 보기", "참고 문헌",
    "وصلات خارجية", "مراجع", "انظر أيضا", "קישורים חיצוניים", "הערות שוליים", "ראו גם",
    "बाहरी कड़ियाँ", "सन्दर्भ", "इन्हें भी देखें", "արտաքին հղումներ", "ծանոթագրություններ", "տես նաև"})
"""Headings of such sections, casefolded."""


def is_aside(view: SubtreeView, node_id: int) -> bool:
    """Whether a line is a caption, or stands in a section of links or notes."""
    node = view.document[node_id]
    return node.tag == "caption" or any(
        " ".join(heading.split()).rstrip(":").casefold() in SECTIONS for heading in node.heading_path)
