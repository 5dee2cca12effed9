"""Differential privacy in multi-agent systems: the library behind the book.

Floors, no way back up: the ground (`dplib.check`, `dplib.rng`, `dplib.privacy`) knows
nothing of agents, `dplib.mdp` nothing of papers; each paper has one room
(`dplib.truthful`, `dplib.rewards`), and rooms never import each other. Beside them
stand `dplib.book`, the machinery of the book, and `dplib.sweep`, which runs a notebook
at many parameters; the floors never import these.
"""

__version__ = "0.1.0"
