"""Differential privacy in multi-agent systems: the library behind the book.

Three floors, no way back up: the ground (`dplib.check`, `dplib.rng`,
`dplib.privacy`) knows nothing of agents; each paper has one room on the top
floor (`dplib.truthful`, ...), and the rooms never import each other. Beside
them stand the services of the book (`dplib.book.claims`, `dplib.book.ledger`,
`dplib.book.figures`, `dplib.book.notebooks`), which the floors never import.
"""

__version__ = "0.1.0"
