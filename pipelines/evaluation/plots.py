"""Plots of a comparison as SVG, made by matplotlib without a display.

What belongs here: recall against budget, latencies, and differences with their intervals, each drawn from an
evaluation's result and returned as text that stands inside a page. What does not: tables and the page.

Equal results give equal bytes: no date, fixed ids.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

COLOURS = ("#2f6f4f", "#c4622d", "#3b6ea8", "#8a4f9e", "#b08a1e", "#4aa3a2", "#a83b56", "#6b7280")
MARKERS = "osD^vPX*"
_STYLE = {
    "svg.hashsalt": "espalier", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#9aa3a0",
    "axes.labelcolor": "#3c4643", "xtick.color": "#3c4643", "ytick.color": "#3c4643", "axes.grid": True,
    "grid.color": "#e4e8e6", "axes.axisbelow": True, "figure.facecolor": "none", "axes.facecolor": "none",
}


def method_colours(methods: Sequence[str]) -> dict[str, str]:
    """One colour a method, the same in every plot and table."""
    return {method: COLOURS[place % len(COLOURS)] for place, method in enumerate(methods)}


def recall_against_budget(result: Mapping[str, Any]) -> str:
    """Evidence recall against the tokens that a context really has, one line a method.

    The budgets stand as faint vertical lines: a method that does not fill a budget shows left of it.
    """
    methods = list(result["methods"])
    colours = method_colours(methods)
    figure, axes = _figure(6.4, 3.9)
    budgets = sorted({point["budget_tokens"] for points in result["curve"].values() for point in points})
    for budget in budgets:
        axes.axvline(budget, color="#c7cfcc", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    for place, method in enumerate(methods):
        points = [p for p in result["curve"].get(method, ()) if p["evidence_recall"] is not None]
        axes.plot([p["context_tokens"] for p in points], [p["evidence_recall"] for p in points],
                  color=colours[method], marker=MARKERS[place % len(MARKERS)], markersize=5, linewidth=1.6,
                  label=method)
    axes.set_xlabel("context, tokens (mean; dashed: budgets)")
    axes.set_ylabel("evidence recall")
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlim(left=0)
    axes.legend(frameon=False, fontsize=9, loc="best")
    return _svg(figure)


def latencies(result: Mapping[str, Any]) -> str:
    """Median and 95th percentile of a question's latency, one bar a method, in milliseconds."""
    methods = [name for name, values in result["methods"].items() if values["latency_p50_s"] is not None]
    colours = method_colours(list(result["methods"]))
    figure, axes = _figure(6.4, 0.9 + 0.42 * max(1, len(methods)))
    for place, method in enumerate(methods):
        p50_ms = result["methods"][method]["latency_p50_s"] * 1000
        p95_ms = result["methods"][method]["latency_p95_s"] * 1000
        axes.barh(place, p95_ms, color=colours[method], alpha=0.28, height=0.62)
        axes.barh(place, p50_ms, color=colours[method], height=0.62)
        axes.text(p95_ms, place, f"  {p50_ms:.0f} / {p95_ms:.0f} ms", va="center", fontsize=9,
                  color="#3c4643")
    axes.set_yticks(range(len(methods)), methods)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.22)
    axes.set_xlabel("latency, ms (dark: median, light: 95th percentile)")
    return _svg(figure)


def differences(result: Mapping[str, Any], metric: str, baseline: str) -> str:
    """Mean differences to one method with their paired intervals; an open mark where zero is inside."""
    rows = [row for row in result["differences"]
            if row["metric"] == metric and row["baseline"] == baseline and row["low"] is not None]
    colours = method_colours(list(result["methods"]))
    figure, axes = _figure(6.4, 0.95 + 0.42 * max(1, len(rows)))
    axes.axvline(0, color="#9aa3a0", linewidth=1)
    for place, row in enumerate(rows):
        colour = colours[row["method"]]
        certain = row["low"] > 0 or row["high"] < 0
        axes.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
        axes.plot([row["mean"]], [place], marker="o", markersize=7, markeredgecolor=colour,
                  markerfacecolor=colour if certain else "white", markeredgewidth=1.8)
    axes.set_yticks(range(len(rows)), [f"{row['method']}  (n = {row['n']})" for row in rows])
    axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"{metric.replace('_', ' ')}: difference to {baseline}, paired 95 % interval")
    return _svg(figure)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure of its own, in inches; pyplot is not used, for its figures outlive the call."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        return figure, figure.add_subplot()


def _svg(figure: Any) -> str:
    import matplotlib

    stream = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = stream.getvalue()
    return text[text.index("<svg"):]
