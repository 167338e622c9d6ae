"""A hand-made article with a life, a table, lists and definitions; the same in a language without rules."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.documents.tree import Document, TreeBuilder


def add_rows(builder: TreeBuilder, rows: Sequence[Sequence[str]], *, infobox: str | None = None) -> None:
    """A table: a row of headings first, or an infobox of name and value."""
    builder.open("table", attrs={"infobox": infobox} if infobox else {})
    for place, row in enumerate(rows):
        builder.open("tr")
        for number, text in enumerate(row):
            builder.add("th" if (number == 0 if infobox else place == 0) else "td", text=text)
        builder.close()
    builder.close()


def mill(number: int = 1, name: str = "Ottery Mill") -> Document:
    """Infobox; lead; History (p, p); Bakers (list); Output (p, table); Terms (definitions); References."""
    builder = TreeBuilder(name)
    add_rows(builder, [["founded", f"18{number:02}"], ["headquarters", "Ottery"], ["img_width", "200px"]],
             infobox="Infobox mill")
    builder.add("p", text=f"{name} is a water mill on the river Otter in Devon. It has been at work for long, and "
                          "many people of the valley brought their grain.")
    builder.open("section", text="History", level=2)
    builder.add("p", text=f"In 17{number:02} the Devon bakers rejected an offer of the town of Exeter for {name}. "
                          "The wheel turned on.")
    builder.add("p", text=f"{name} was sold to the English architect Ann Lee in May 18{number:02}.")
    builder.close_to(0)
    builder.open("section", text="Bakers", level=2)
    builder.open("ul")
    builder.add("li", text=f"John Cook (north house): the oldest of all the bakers {number} of Devon")
    builder.add("li", text=f"Mary Reed, maker of the dark loaf number {number} for the poor")
    builder.close_to(0)
    builder.open("section", text="Output", level=2)
    builder.add("p", text="What was ground in the years when the river was high is told by the books of the house.")
    add_rows(builder, [["Year", "Sacks of flour", "Miller"], ["1811", f"1,2{number:02}", f"Will Cobb {number}"],
                       ["1812", f"1,3{number:02}", f"Joan Hart {number}"], ["1813", f"9{number:02}", "—"]])
    builder.close_to(0)
    builder.open("section", text="Terms", level=2)
    builder.open("dl")
    builder.add("dt", text="Runner")
    builder.add("dd", text=f"The upper one of two stones, which turns, at mill {number}.")
    builder.close_to(0)
    builder.open("section", text="References", level=2)
    builder.add("p", text=f"In 1999 the Devon printers sold a book on {name} to the county.")
    return Document(f"xx:{number}", builder.finish(), language="en", revision="1", parser_version=1)


def muehle(number: int = 1) -> Document:
    """A German article: lead, a section, a table, a definition."""
    builder = TreeBuilder("Obermühle")
    builder.add("p", text="Die Obermühle steht seit dem Jahr 1820 am Ufer der Otter und gehört heute der Gemeinde.")
    builder.open("section", text="Geschichte", level=2)
    builder.add("p", text="Bauern aus der Umgebung brachten ihr Getreide hierher, solange die Straße über den Pass "
                          "gesperrt war. Später wurde das Gebäude als Scheune und als Lager der Feuerwehr genutzt.")
    builder.close_to(0)
    builder.open("section", text="Ertrag", level=2)
    add_rows(builder, [["Jahr", "Säcke"], ["1811", "1200 Säcke Mehl"], ["1812", "1300 Säcke Mehl"]])
    builder.close_to(0)
    builder.open("section", text="Begriffe", level=2)
    builder.open("dl")
    builder.add("dt", text="Läufer")
    builder.add("dd", text="Der obere der beiden Steine, der sich dreht und das Korn zerreibt.")
    return Document(f"dewiki:{number}", builder.finish(), language="de", revision="1", parser_version=1)
