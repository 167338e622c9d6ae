"""Benchmarks: each module measures ratios against a named peer or bound within one run, and prints them."""
