"""Training data of routers: states that a router meets, and what it should have done in them.

What belongs here: the gold teacher, rows of the tables `routing_states` and `routing_actions`, class tags,
router metrics on held-out states, and the choice of training samples. What does not: spreading the work over
Ray and asking teachers (`training/curate_actions.py`), and training itself.
"""
