"""Hand-made questions, documents and predictions. A token is a word here, so that counts can be read off."""

from __future__ import annotations

from pipelines.documents.tree import Document, TreeBuilder
from pipelines.evaluation.datasets import GoldEvidence, Question
from pipelines.evaluation.predictions import Citation, EvidenceDocument, Prediction, RankedPiece


def count_words(text: str) -> int:
    return len(text.split())


def make_document(doc_id: str, title: str, sections: dict[str, list[str]]) -> Document:
    """One paragraph a text; the section '' is the lead. node_ids and paths follow from the order."""
    builder = TreeBuilder(title)
    for heading, paragraphs in sections.items():
        if heading:
            builder.open("section", text=heading, level=2)
        for words in paragraphs:
            builder.add("p", text=words)
        if heading:
            builder.close()
    return Document(doc_id, builder.finish(), revision="1", parser_version=1)


def make_question(question_id: str = "q1", *quotes: tuple[str, str],
                  answers: tuple[tuple[str, ...], ...] = (), kind: str | None = "fact") -> Question:
    """quotes: (title, quote)."""
    return Question(question_id, f"Question {question_id}?", answers,
                    tuple(GoldEvidence(title, (), quote) for title, quote in quotes), kind)


def make_prediction(question_id: str, method: str, document: Document, node_ids: list[int], *,
                    score: float = 1.0, latency_s: float = 0.01) -> Prediction:
    """Evidence of whole nodes of one document; its context is their texts, without title and headings."""
    texts = [document[node_id].text for node_id in node_ids]
    context = "\n".join(texts)
    citations = tuple(
        Citation(f"{document.doc_id}@1.1#/{'/'.join(map(str, document[n].path))}", document[n].text)
        for n in sorted(node_ids))
    plain = "\n".join(document[n].text for n in sorted(node_ids))
    evidence = (EvidenceDocument(document.doc_id, document.title, plain, score, citations),) if texts else ()
    pieces = tuple(RankedPiece(document.doc_id, ((n, 0, len(document[n].text)),), score) for n in node_ids)
    trace = ({"step": "search", "started_at_s": 1_000.0, "duration_s": latency_s},)
    return Prediction(question_id, method, 1, context, count_words(context), evidence, pieces, None, trace,
                      latency_s=latency_s)
