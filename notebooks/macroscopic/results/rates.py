"""Leakage of a symmetric tree of 8 robot types for random rates: Figure 11.

The 7 rates of collaboration are drawn uniformly from 0.1 to 2, the rates of
decomposition are 1. The paper gives neither the number of robots of each type nor nu:
both are varied, with the same rates. One task is a block of draws.

``size`` is the average group size of Figure 11, the mean of sum i y_i / sum y_i with i
the size of a group; ``index`` the same formula with i = 1, 2, 3, 4 for groups of 1, 2,
4 and 8 robots. Then L(D) of Equation 9, in nats, for nu = 1e-3, 1e-5 and 1e-8, and the
largest probability with which the best guess tells D from an adjacent database.
"""

import numpy as np

from dplib.macroscopic import trees
from dplib.rng import stream

PARAMETERS = {
    "seed": 2026,
    "samples": 2000,
    "blocks": 10,
    "robots": [1, 2, 3, 5],
    "rate_min": 0.1,
    "rate_max": 2.0,
    "nu": [1e-3, 1e-5, 1e-8],
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-3}
TASK = ("robots", "block")
COLUMNS = ("size", "index", "nu3", "nu5", "nu8", "guess")


def tasks():
    """Return every block, for each number of robots."""
    return [
        (robots, block)
        for robots in PARAMETERS["robots"]
        for block in range(PARAMETERS["blocks"])
    ]


def run(robots, block):
    """Return one row for each draw."""
    pair = ((), ())
    symmetric = ((pair, pair), (pair, pair))
    rng = stream(PARAMETERS["seed"], "macroscopic/rates", block)
    draws = PARAMETERS["samples"] // PARAMETERS["blocks"]
    rates = rng.uniform(PARAMETERS["rate_min"], PARAMETERS["rate_max"], size=(draws, 7))
    nu = np.array(PARAMETERS["nu"])[:, None]
    rows = []
    for one in rates:
        forest = trees.by_size(8, robots)
        tree = trees.plant(forest, symmetric, robots, one.tolist())
        found = forest.distribution(tree)
        p, groups = np.exp(found.log_p), found.outcomes.sum(axis=1)
        size = p @ (found.outcomes @ np.arange(1, 9) / groups)
        index = p @ (found.outcomes[:, [0, 1, 3, 7]] @ np.arange(1, 5) / groups)
        most, guess = np.zeros(len(nu)), 0.0
        for own, other in forest.compared(tree):
            loss = np.abs(np.log((own + nu) / (other + nu))).max(axis=1)
            most = np.maximum(most, loss)
            guess = max(guess, 0.5 + np.abs(own - other).sum() / 4)
        numbers = (size, index, *most, guess)
        rows.append(tuple(round(float(x), 4) for x in numbers))
    return rows
