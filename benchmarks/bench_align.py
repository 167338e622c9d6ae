"""How fast and how exactly foreign passages are aligned, against plain ways, in one process.

Passages: 100 words of the sample's long articles, cut at known places, a tenth of the letters changed,
dropped or doubled. Peers: edlib over the letters and digits of the whole document, with the same start; and,
on a few passages, a window of the passage's length moved by one character with Levenshtein's distance in
Python, as the paper aligns. Printed for each: CPU time a passage, share of exact starts, mean distance to the
true start. Ours also tries readings without headings, tables and lists, moves borders to words, and finds the
nodes; the peers only find a start.
Goals: at least 95 % of the starts exact (noise may take a first word of one letter, or make one up), at least
1,000 times as fast as the window on a whole article, and on a page of a million letters faster than edlib alone.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence

import edlib

from pipelines.documents.readers.dump import iter_pages, read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.tree import Document, TreeBuilder
from pipelines.evaluation.normalise import QuotedText, normalise_quote
from pipelines.retrieval.align import Aligner

N_ARTICLES = 10
PASSAGES_OF_AN_ARTICLE = 20
PASSAGES_OF_LONG_PAGE = 200
N_WINDOW_PASSAGES = 2
WINDOW_PLACES = 40
"""Places that the window in Python is moved over, the true one among them; a page has thousands of times more."""
NOISE = 0.1
LETTERS = "abcdefghijklmnopqrstuvwxyz"
GOAL_WINDOW_RATIO = 1000.0
GOAL_LONG_RATIO = 1.0
GOAL_EXACT = 0.95

Case = tuple[str, int]
"""A noisy passage and its true start in the visible text."""


def articles() -> list[Document]:
    """The longest articles of the sample."""
    path = sample_dump_path()
    site = read_site_info(path)
    pages = [page for page in iter_pages(path) if page.namespace == 0 and page.redirect_to is None and page.text]
    pages.sort(key=lambda page: -len(page.text or ""))
    return [Document(f"enwiki:{page.page_id}", read_wikitext(page.title, page.text or "", site).nodes)
            for page in pages[:N_ARTICLES]]


def joined(documents: Sequence[Document], n_letters: int) -> Document:
    """One page with the paragraphs of many, repeated under other words until it is long enough."""
    builder = TreeBuilder("A long page")
    n_written = 0
    while n_written < n_letters:
        shift = n_written % 25 + 1
        turned = str.maketrans(LETTERS, LETTERS[shift:] + LETTERS[:shift])
        for document in documents:
            for node in document:
                if node.tag == "p":
                    builder.add("p", text=node.text.translate(turned))
                    n_written += len(node.text)
    return Document("long:1", builder.finish())


def noisy(text: str, rng: random.Random) -> str:
    """A tenth of the letters changed, dropped or followed by another."""
    out = []
    for character in text:
        kind = rng.choice("cda") if character.isalnum() and rng.random() < NOISE else ""
        out.append({"c": rng.choice(LETTERS), "d": "", "a": character + rng.choice(LETTERS)}.get(kind, character))
    return "".join(out)


def cases(document: Document, rng: random.Random, n_passages: int) -> list[Case]:
    """Passages of 100 words at known places of the visible text."""
    visible = document.visible_text()
    starts = [place for place in range(len(visible) - 1000)
              if visible[place].isalnum() and (place == 0 or visible[place - 1].isspace())]
    chosen = rng.sample(starts, n_passages)
    return [(noisy(" ".join(visible[start:].split(maxsplit=100)[:100]), rng), start) for start in chosen]


def edlib_whole(quoted: QuotedText, letters: str, passage: str) -> int:
    """Start by edlib over all letters and digits; characters beyond 256 different ones become one."""
    found = edlib.align(as_bytes(normalise_quote(passage)), as_bytes(letters), mode="HW", task="locations")
    return quoted.begins[found["locations"][0][0]]


def as_bytes(letters: str) -> bytes:
    return letters.encode("latin-1", "replace")


def sliding_window(text: str, passage: str) -> int:
    """Start of the window of the passage's length with the least Levenshtein distance, in plain Python."""
    def distance(one: str, other: str) -> int:
        row = list(range(len(other) + 1))
        for number, left in enumerate(one, 1):
            diagonal, row[0] = row[0], number
            for place, right in enumerate(other, 1):
                diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1,
                                                       diagonal + (left != right))
        return row[-1]

    return min(range(len(text) - len(passage) + 1),
               key=lambda place: distance(passage, text[place: place + len(passage)]))


def measure(name: str, work: Sequence[tuple[Callable[[], int], int]]) -> tuple[float, float]:
    """CPU seconds a passage and the share of exact starts; printed with the mean distance."""
    begin = time.process_time()
    starts = [find() for find, _ in work]
    seconds = (time.process_time() - begin) / len(work)
    distances = [abs(start - true) for start, (_, true) in zip(starts, work, strict=True)]
    exact = sum(distance == 0 for distance in distances) / len(work)
    print(f"{name:46} {1000 * seconds:10.2f} ms   {exact:6.1%} exact starts   "
          f"off by {sum(distances) / len(work):.1f} characters   n = {len(work)}")
    return seconds, exact


def compare(documents: Sequence[Document], title: str, n_passages: int) -> tuple[float, float, float]:
    """Ours against edlib over whole documents; the normal form of a page is made in both, once."""
    rng = random.Random(11)
    n_letters = sum(len(normalise_quote(document.visible_text())) for document in documents) // len(documents)
    print(f"{title}: {len(documents)} of {n_letters:,} letters and digits on average")
    ours: list[tuple[Callable[[], int], int]] = []
    whole: list[tuple[Callable[[], int], int]] = []
    for document in documents:
        aligner = Aligner(document)
        prepared: dict[str, QuotedText] = {}

        def quoted(document: Document = document, prepared: dict[str, QuotedText] = prepared) -> QuotedText:
            if not prepared:
                prepared[""] = QuotedText(document.visible_text())
            return prepared[""]

        for passage, start in cases(document, rng, n_passages):
            ours.append((lambda a=aligner, p=passage: (a.align(p).ranges or ((-1, 0),))[0][0], start))
            whole.append((lambda q=quoted, p=passage: edlib_whole(q(), q().normalised, p), start))
    ours_s, exact = measure("  ours, nodes included", ours)
    whole_s, whole_exact = measure("  edlib over the whole document", whole)
    print(f"  ratio {whole_s / ours_s:.2f}, exact starts {exact:.1%} against {whole_exact:.1%}")
    return ours_s, whole_s, exact


def window_on_article(document: Document) -> float:
    """CPU seconds a passage of the sliding window over a whole article, from some of its places."""
    rng = random.Random(12)
    visible = document.visible_text()
    work: list[tuple[Callable[[], int], int]] = []
    n_places = 0
    for passage, start in cases(document, rng, N_WINDOW_PASSAGES):
        first = max(0, start - WINDOW_PLACES // 2)
        part = visible[first: first + WINDOW_PLACES + len(passage)]
        n_places += len(part) - len(passage) + 1
        work.append((lambda t=part, p=passage, f=first: f + sliding_window(t, p), start))
    print(f"a window moved over {WINDOW_PLACES} places")
    seconds, _ = measure("  Levenshtein in Python", work)
    return seconds * len(visible) / (n_places / len(work))


def main() -> int:
    """Measure and print. Returns 1 when a goal is missed."""
    documents = articles()
    ours_s, _, exact = compare(documents, "articles of the sample", PASSAGES_OF_AN_ARTICLE)
    long_page = joined(documents, 1_000_000)
    long_s, long_whole_s, long_exact = compare([long_page], "a page of a million letters", PASSAGES_OF_LONG_PAGE)
    window_s = window_on_article(documents[0])
    met = (min(exact, long_exact) >= GOAL_EXACT and window_s / ours_s >= GOAL_WINDOW_RATIO
           and long_whole_s / long_s >= GOAL_LONG_RATIO)
    print(f"ours is {window_s / ours_s:,.0f} times as fast as the window on a whole article, extrapolated (goal "
          f"{GOAL_WINDOW_RATIO:,.0f}), {long_whole_s / long_s:.2f} times as fast as edlib on the long page (goal "
          f"{GOAL_LONG_RATIO:g}), exact starts {min(exact, long_exact):.1%} (goal {GOAL_EXACT:.0%}): "
          f"{'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
