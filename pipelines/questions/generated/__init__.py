"""Questions for training, generated from the trees of any corpus, with evidence known.

What belongs here: generators, with rules (`cloze.py`, `headings.py`, `tables.py`, `lists.py`,
`unanswerable.py`) and with a language model (`llm_questions.py`), and the choice among what they offer
(`generate.py`). What does not: question sets of people.
"""
