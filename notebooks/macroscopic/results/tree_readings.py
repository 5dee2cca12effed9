"""Pearson correlation of depth and leakage, for other readings of Figure 10.

What the paper leaves open is varied: the number of robots of each type, the ratio of
the rates of collaboration and decomposition, and nu. Each setting sees the same trees,
a random sample without replacement of the 10,905.

``measure`` is a nu, or ``guess``, the probability that the best guess is right; then
follow its Pearson correlation with the depth, and its mean over the trees up to the
median depth of the sample and over the deeper ones.
"""

from itertools import repeat

import numpy as np

from dplib.macroscopic import trees
from dplib.rng import stream

PARAMETERS = {
    "seed": 2026,
    "samples": 300,
    "leaves": 16,
    "robots": [1, 2, 3],
    "ratio": ["0.25", "0.5", "1", "2", "4"],
    "nu": ["1e-2", "1e-3", "1e-5", "1e-8"],
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-5}
TASK = ("robots", "ratio")
COLUMNS = ("measure", "pearson", "shallow", "deep")


def tasks():
    """Return every number of robots, and every ratio."""
    return [
        (robots, ratio)
        for robots in PARAMETERS["robots"]
        for ratio in PARAMETERS["ratio"]
    ]


def run(robots, ratio):
    """Return one row for each measure."""
    leaves = PARAMETERS["leaves"]
    shapes = trees.binary_shapes(leaves)
    rng = stream(PARAMETERS["seed"], "macroscopic/tree_readings")
    sample = rng.choice(len(shapes), size=PARAMETERS["samples"], replace=False)
    depths = np.array([trees.depth(shapes[place]) for place in sample])
    nu = np.array([float(text) for text in PARAMETERS["nu"]])[:, None]
    forest = trees.by_size(leaves, robots)
    values = np.zeros((len(nu) + 1, len(sample)))
    for at, place in enumerate(np.sort(sample)):
        tree = trees.plant(forest, shapes[place], robots, repeat(float(ratio)))
        for p, q in forest.compared(tree):
            most = np.abs(np.log((p + nu) / (q + nu))).max(axis=1)
            guess = 0.5 + np.abs(p - q).sum() / 4
            values[:, at] = np.maximum(values[:, at], [*most, guess])
        forest.forget(9)
    depths = depths[np.argsort(sample)]
    deep = depths > np.median(depths)
    return [
        (
            measure,
            round(float(np.corrcoef(depths, one)[0, 1]), 6),
            round(float(one[~deep].mean()), 6),
            round(float(one[deep].mean()), 6),
        )
        for measure, one in zip([*PARAMETERS["nu"], "guess"], values, strict=True)
    ]
