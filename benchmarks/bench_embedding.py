"""How much faster documents are embedded than by sentence-transformers, at the same vectors.

Peer: `SentenceTransformer.encode`, fp32, batches of 32. Measured: the encoder with the back end that
a build takes on this processor, and with fp32 by onnxruntime, which is what other processors get. Texts:
passages drawn across the articles of the sample, in slices that the three get in turn and in the same order,
so that a busy machine slows all alike. Printed: ratios of the total times, by the clock and of CPU time (on a
busy machine the peer's threads wait for each other, and the clock flatters us), the cosine of every vector to the
peer's. Goals: at least 2.2 where bf16 is chosen, 1.25 for fp32, and no cosine below 0.9999.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.__main__ import machine
from benchmarks.sample_copies import sample_articles
from pipelines.documents.passages import make_passages
from pipelines.documents.readers.dump import read_site_info, sample_dump_path
from pipelines.documents.readers.wikitext import read_wikitext
from pipelines.documents.sentences import split_nodes
from pipelines.models.encoder import Encoder, load_encoder
from pipelines.models.encoder_backend import MIN_COSINE
from pipelines.models.export import ENCODERS, export_encoder, locate
from pipelines.settings import ENCODER_NAME, profile_by_name

GOALS = {"bf16": 2.2, "fp32": 1.25}
N_TEXTS = 2048
N_SLICES = 8
SEED = 7

Vectors = NDArray[np.float32]


def passages(n: int) -> list[str]:
    """That many texts of units, drawn from all articles of the sample."""
    site = read_site_info(sample_dump_path())
    language = site.language or "en"
    words = profile_by_name().passage_words
    texts = []
    for page in sample_articles():
        nodes = read_wikitext(page.title, page.text, site).nodes
        texts += [f"{page.title}\n{passage.text}"
                  for passage in make_passages(nodes, split_nodes(nodes, language), words)]
    return random.Random(SEED).sample(texts, n)


def peer(threads: int) -> Callable[[list[str]], Vectors]:
    """SentenceTransformer.encode on the weights that the encoder was exported from."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(threads)
    model: Any = SentenceTransformer(str(locate(ENCODERS[ENCODER_NAME])), device="cpu")

    def encode(texts: list[str]) -> Vectors:
        vectors: Vectors = model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        return vectors

    return encode


def ours(encoder: Encoder, batch_tokens: int) -> Callable[[list[str]], Vectors]:
    """The encoder as a build calls it."""
    return lambda texts: encoder.encode(texts, batch_tokens).vectors


def main() -> int:
    """Measure and print. Returns 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=N_TEXTS, help=f"passages, by default {N_TEXTS}")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="of each, by default one a core; a worker of Spark has 1")
    arguments = parser.parse_args()
    n_texts, threads = arguments.texts, arguments.threads
    texts = passages(n_texts)
    export_encoder(ENCODER_NAME)
    profile = profile_by_name()
    encoders = [load_encoder(ENCODER_NAME, profile.encoder_max_tokens, threads, precision)
                for precision in ("auto", "fp32")]
    if encoders[0].choice.precision == "fp32":
        del encoders[1]
    print(f"{n_texts} passages; {machine()}; {threads} threads; back end: {encoders[0].choice}", flush=True)
    names = ["peer", *(encoder.choice.precision for encoder in encoders)]
    ways = [peer(threads), *(ours(encoder, profile.encoder_batch_tokens) for encoder in encoders)]
    for way in ways:
        way(texts[:32])  # What is made at the first call, as threads and buffers, is no encoding.
    seconds, cpu_seconds = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    cosines: dict[str, list[Vectors]] = {name: [] for name in names}
    for number in range(N_SLICES):
        part, expected = texts[number::N_SLICES], None
        for name, way in zip(names, ways, strict=True):
            begin, cpu_begin = time.perf_counter(), time.process_time()
            vectors = way(part)
            seconds[name] += time.perf_counter() - begin
            cpu_seconds[name] += time.process_time() - cpu_begin
            expected = vectors if expected is None else expected
            cosines[name].append(np.sum(vectors * expected, axis=1))
    print(f"{'SentenceTransformer, fp32, 32':32} {n_texts / seconds['peer']:7.1f} texts/s")
    met = True
    for encoder in encoders:
        name = encoder.choice.precision
        ratio, cosine = seconds["peer"] / seconds[name], np.concatenate(cosines[name])
        good = ratio >= GOALS[name] and cosine.min() >= MIN_COSINE
        met = met and bool(good)
        print(f"{f'{name} by {encoder.choice.library}':32} {n_texts / seconds[name]:7.1f} texts/s   ratio "
              f"{ratio:.2f} (of CPU time {cpu_seconds['peer'] / cpu_seconds[name]:.2f}), goal at least "
              f"{GOALS[name]:g}; cosine min {cosine.min():.5f} mean "
              f"{cosine.mean():.5f}, goal at least {MIN_COSINE:g}: {'met' if good else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
