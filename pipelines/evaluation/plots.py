"""Plots of a comparison as SVG, made by matplotlib without a display.

What belongs here: recall against budget, latencies, differences with their intervals, drawn from an evaluation's
result; scaling and ablations of a router, from their points; each returned as text that stands inside a page.
What does not: tables and the page.

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


SCALED = {"passage_str_em": "passage STR-EM", "evidence_recall": "evidence recall",
          "routed_tokens_in": "router text, tokens", "routed_tokens_out": "actions, tokens"}
AXES = {"k": "passages retrieved (k)", "turns": "headings expanded at most (turns)"}


def scaling_curves(points: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """What more passages and more turns bring and take: a row a quantity that is scaled, one line a router.

    points: `k` or `turns` → points with that quantity, `router`, and the means of `SCALED`; None is left out.
    """
    routers = list(dict.fromkeys(point["router"] for found in points.values() for point in found))
    colours = method_colours(routers)
    figure, panels = _figure(12.5, 2.9 * len(points) + 0.4, (len(points), len(SCALED)))
    for row, (quantity, found) in zip(panels, points.items(), strict=True):
        for axes, (metric, title) in zip(row, SCALED.items(), strict=True):
            for place, router in enumerate(routers):
                own = sorted((p[quantity], p[metric]) for p in found
                             if p["router"] == router and p[metric] is not None)
                axes.plot([x for x, _ in own], [y for _, y in own], color=colours[router],
                          marker=MARKERS[place % len(MARKERS)], markersize=5, linewidth=1.6, label=_short(router))
            axes.set_title(title, fontsize=10, color="#3c4643")
            axes.set_xlabel(AXES[quantity], fontsize=9)
            axes.set_xticks(sorted({p[quantity] for p in found}))
            highest = max((point[metric] for point in found if point[metric] is not None), default=0)
            axes.set_ylim(0, 1.08 * highest or 1)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=9, loc="outside upper center", ncols=len(routers))
    return _svg(figure)


def ablation_bars(points: Sequence[Mapping[str, Any]]) -> str:
    """Passage STR-EM and evidence recall with each part taken away, one bar a router; dashed: the whole method."""
    routers = list(dict.fromkeys(point["router"] for point in points))
    parts = list(dict.fromkeys(point["ablation"] for point in points))
    colours, height = method_colours(routers), 0.8 / len(routers)
    figure, panels = _figure(9.6, 1.0 + 0.3 * len(parts) * max(2, len(routers)), (1, 2))
    for axes, metric in zip(panels[0], list(SCALED)[:2], strict=True):
        for place, router in enumerate(routers):
            values = {p["ablation"]: p[metric] for p in points if p["router"] == router}
            for row, part in enumerate(parts):
                value = values.get(part)
                if value is not None:
                    axes.barh(row + (place - (len(routers) - 1) / 2) * height, value, height, color=colours[router],
                              label=_short(router) if row == 0 else None)
            if values.get("") is not None:
                axes.axvline(values[""], color=colours[router], linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        axes.set_yticks(range(len(parts)), [part.replace("_", " ") or "whole method" for part in parts])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_xlim(left=0)
        axes.set_xlabel(SCALED[metric])
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=9, loc="outside upper center", ncols=len(routers))
    return _svg(figure)


def _short(router: str) -> str:
    """A router's name as a legend has room for: the last part of a path or an address."""
    return router.rstrip("/").rpartition("://")[2].removeprefix("models:/")[-40:]


def _figure(width: float, height: float, panels: tuple[int, int] | None = None) -> tuple[Any, Any]:
    """A figure of its own, in inches; pyplot is not used, for its figures outlive the call.

    panels: rows and columns of axes, always a grid; without, one single axes.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        return figure, figure.add_subplot() if panels is None else figure.subplots(*panels, squeeze=False)


def _svg(figure: Any) -> str:
    import matplotlib

    stream = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = stream.getvalue()
    return text[text.index("<svg"):]
