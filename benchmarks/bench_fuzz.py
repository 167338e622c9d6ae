"""Whether the reader, the splitter and the passages stay linear on hostile pages of up to 2 MB.

Every family of `wikitext_families.py` is read at 0.5, 1 and 2 MB. Printed: milliseconds per MB at 2 MB, the
largest growth per doubling of each step's CPU time and of the reader's peak memory (at 64 and 128 kB: tracing
is slow), the peak as a multiple of the page, words lost or shown too often. Bounds: 2.5 per doubling, no word,
no exception. A growth over the bound is measured again, best of three.
"""

from __future__ import annotations

import sys
from itertools import pairwise

from benchmarks.wikitext_families import FAMILIES, Family
from benchmarks.wikitext_fuzz import PER_DOUBLING, STEPS, Cost, growth, measure, peak_bytes

SIZES = (500_000, 1_000_000, 2_000_000)
MEMORY_SIZES = (64_000, 128_000)


def worst_growth(costs: list[Cost]) -> dict[str, float]:
    """The largest growth of each step over the sizes, which double."""
    grown = [growth(small, large, 1) for small, large in pairwise(costs)]
    return {step: max(one[step] for one in grown) for step in STEPS}


def run(family: Family) -> list[str]:
    """Measure one family and print its line; returns what breaks a bound."""
    texts = [family.text(size) for size in SIZES]
    costs = [measure(family, text) for text in texts]
    grown = worst_growth(costs)
    if max(grown.values()) > PER_DOUBLING:
        costs = [measure(family, text, rounds=3) for text in texts]
        grown = worst_growth(costs)
    small, large = (family.text(size) for size in MEMORY_SIZES)
    peak = peak_bytes(large)
    memory = peak / peak_bytes(small)
    lost, extra = max(cost.lost for cost in costs), max(cost.extra for cost in costs)
    last = costs[-1]
    print(f"{family.name:32} {last.result.status:9}"
          + "".join(f"{last.seconds[step] * 1e9 / SIZES[-1]:7.0f}{grown[step]:6.2f}" for step in STEPS)
          + f"{memory:7.2f}{peak / MEMORY_SIZES[-1]:6.0f}{lost:7}{extra:7}", flush=True)
    faults = [f"{step} grows by {grown[step]:.2f}" for step in STEPS if grown[step] > PER_DOUBLING]
    if memory > PER_DOUBLING:
        faults.append(f"memory grows by {memory:.2f}")
    if lost or extra:
        faults.append(f"{lost} words lost, {extra} too many")
    return faults


def main() -> int:
    print(" " * 42 + "".join(f"{step:>13}" for step in STEPS) + "       memory")
    print(f"{'family':32} {'status':9}" + f"{'ms/MB':>7}{'grows':>6}" * len(STEPS)
          + f"{'grows':>7}{'times':>6}{'lost':>7}{'extra':>7}")
    faults: dict[str, list[str]] = {}
    for family in FAMILIES:
        try:
            found = run(family)
        except Exception as fault:  # noqa: BLE001 - the reader may raise for no page: every kind is a finding
            found = [f"{type(fault).__name__}: {fault}"]
        if found:
            faults[family.name] = found
    print(f"{len(FAMILIES)} families, bounds broken by {len(faults)}")
    for name, found in faults.items():
        print(f"  {name}: {'; '.join(found)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
