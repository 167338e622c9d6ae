"""The curves of a router: what is drawn is what the points say."""

from __future__ import annotations

import re
from typing import Any

from pipelines.evaluation.plots import SCALED, ablation_bars, scaling_curves


def point(router: str, k: int, value: float | None, ablation: str = "") -> dict[str, Any]:
    return {"router": router, "k": k, "turns": 5, "ablation": ablation, **dict.fromkeys(SCALED, value)}


def n_drawn(svg: str, colour: str) -> list[int]:
    """Points of each polyline of a colour."""
    paths = re.findall(rf'<path d="([^"]+)"[^>]*style="fill: none; stroke: {colour}; stroke-width: 1.6', svg)
    return [len(re.findall("[ML]", path)) for path in paths]


def test_each_router_has_a_line_in_each_panel_and_what_has_no_value_is_left_out() -> None:
    own = [point("similarity", k, 0.1 * k) for k in range(4)]
    svg = scaling_curves({"k": [*own, *(point("models:/scorer/2", k, None if k == 2 else 0.2) for k in range(4))]})
    # Four panels, and the line of three points in the legend.
    assert sorted(n_drawn(svg, "#2f6f4f")) == [3, 4, 4, 4, 4]
    assert sorted(n_drawn(svg, "#c4622d")) == [3, 3, 3, 3, 3]
    assert ">scorer/2<" in svg
    assert ">similarity<" in svg


def test_ablations_have_a_bar_a_router_and_equal_points_give_equal_bytes() -> None:
    points = [point("a", 5, 0.5), point("b", 5, 0.6), point("a", 5, 0.2, "no_expand"),
              point("b", 5, None, "no_expand")]
    svg = ablation_bars(points)
    assert svg == ablation_bars(points)
    assert ">no expand<" in svg
    assert ">whole method<" in svg
    # In each of two panels two bars of `a` and one of `b`; and one of each in the legend.
    assert [svg.count(f'style="fill: {colour}"') for colour in ("#2f6f4f", "#c4622d")] == [5, 3]
