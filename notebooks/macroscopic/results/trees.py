"""Leakage of every binary collaboration tree of 16 robot types: Figure 10.

The paper gives neither the number of robots of each type nor the rates nor nu. Here
all rates are 1, nu is 1e-5, and there are one, two or three robots of each type; the
stored run ``tree_readings`` changes rates and nu. One task is a block of trees in the
order of `dplib.macroscopic.trees.binary_shapes`, where ``tree`` is their place.

``leakage`` is L(D) of Equation 9, in nats; ``guess`` the largest probability with which
the best guess tells D from an adjacent database (at even odds), which needs no nu.
"""

from itertools import repeat

import numpy as np

from dplib.macroscopic import trees

PARAMETERS = {
    "leaves": 16,
    "robots": [1, 2, 3],
    "ratio": 1.0,
    "nu": 1.0e-5,
    "blocks": 50,
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-4}
TASK = ("robots", "block")
COLUMNS = ("tree", "leakage", "guess")


def tasks():
    """Return every block, for each number of robots."""
    return [
        (robots, block)
        for robots in PARAMETERS["robots"]
        for block in range(PARAMETERS["blocks"])
    ]


def run(robots, block):
    """Return one row for each tree of a block."""
    leaves, nu = PARAMETERS["leaves"], PARAMETERS["nu"]
    shapes = trees.binary_shapes(leaves)
    places = np.array_split(np.arange(len(shapes)), PARAMETERS["blocks"])[block]
    forest = trees.by_size(leaves, robots)
    rows = []
    for place in places.tolist():
        tree = trees.plant(forest, shapes[place], robots, repeat(PARAMETERS["ratio"]))
        leakage = guess = 0.0
        for p, q in forest.compared(tree):
            leakage = max(leakage, np.abs(np.log((p + nu) / (q + nu))).max())
            guess = max(guess, 0.5 + np.abs(p - q).sum() / 4)
        forest.forget(9)
        rows.append((place, round(float(leakage), 4), round(float(guess), 4)))
    return rows
