"""Dagster's assets: thin functions that call `spark_jobs`, `training` or `pipelines` and report what was done.

`registry.py` is the map of all groups. Modules with decorated functions do without
`from __future__ import annotations`: Dagster compares the annotation of `context` with its own classes.
"""
