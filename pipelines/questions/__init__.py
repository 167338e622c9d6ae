"""Where questions come from: sets that others have published, and questions made from a corpus's own trees.

What belongs here: turning either into `Question` rows of the table `questions`. What does not: the project's
own questions file, and everything that is done with questions afterwards (`pipelines/evaluation`).
"""
