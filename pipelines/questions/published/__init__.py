"""Question sets in the files that their authors publish, read into the project's own questions.

What belongs here: one module for each set with the source of every field it reads, what they share (files,
streaming JSON, checked fields), and the writing of a set of any size. What does not: the project's own
questions file (`pipelines/evaluation/datasets.py`).
"""
