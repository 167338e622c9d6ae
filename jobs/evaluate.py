"""The jobs of an evaluation: load a question set, ask the methods, compare what is stored.

What belongs here: which assets a job selects and how it is partitioned. What does not: what they do. Three
jobs, for each has partitions of its own: a set, a set and a method, a set.
"""

from __future__ import annotations

import dagster as dg

load_questions = dg.define_asset_job(
    "load_questions", selection=dg.AssetSelection.assets("questions"),
    executor_def=dg.in_process_executor, description="Load the questions file of a set.")

evaluate_methods = dg.define_asset_job(
    "evaluate_methods", selection=dg.AssetSelection.assets("predictions"),
    executor_def=dg.in_process_executor,
    description="Ask methods the questions of a set: predictions, metrics, an MLflow run a method.")

compare_methods = dg.define_asset_job(
    "compare_methods", selection=dg.AssetSelection.assets("comparison"),
    executor_def=dg.in_process_executor,
    description="Compare the newest predictions of all methods of a set, and write the report.")

default_jobs = [load_questions, evaluate_methods, compare_methods]
