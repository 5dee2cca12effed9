"""Small teams, and the paper's as it is printed: what the tests here share."""

import math
from dataclasses import replace

import numpy as np

from dplib.truthful.noise import calibrated, trajectory_adjacency
from dplib.truthful.paper import hale_egerstedt
from dplib.truthful.problem import Problem, pairwise_constraint

PROBLEM = hale_egerstedt()
ADJACENCY = trajectory_adjacency(3.0)
EPSILON = math.log(3.0)
CALIBRATED = calibrated(PROBLEM, adjacency=ADJACENCY, epsilon=EPSILON)

TABLE_I = [(6, -4), (2, 2), (-7, 7), (8, -9), (3, -7), (10, 10), (-10, -10), (6, -6)]
# Constraint by constraint: the pairs of agents and the bound, as printed.
STARS = [
    ([(1, 2), (1, 3)], 5.0),
    ([(4, 5), (4, 6)], 3.0),
    ([(7, 8), (7, 6)], 3.0),
    ([(5, 3), (5, 7)], 5.0),
]


def tied(pairs, lower, upper, targets, limit, copies=1):
    """Agents on a line; the squared distances of the pairs sum to the limit or less."""
    dims = (1,) * len(targets)
    terms = [pairwise_constraint(dims, pairs, limit=limit)] * copies
    Q, a, c = (np.array(part) for part in zip(*terms, strict=True))
    return Problem(dims, lower, upper, targets, Q, a, c)


def line(lower=(-9, -9), upper=(9, 9), targets=(0, 4), limit=4.0, copies=1):
    """Two agents on a line who must stay within a distance of each other."""
    return tied([(0, 1)], lower, upper, targets, limit, copies)


def star():
    """Three agents on a line, the first tied to the two others."""
    return tied([(0, 1), (0, 2)], [-10] * 3, [10] * 3, [0] * 3, limit=1.0)


def alone():
    """A team of one agent: its prices reach nobody else."""
    return Problem((1,), [-1], [1], [3], [[[2.0]]], [[0.0]], [-1.0])


def flat(a, c):
    """Two agents whose only constraint is affine."""
    return Problem((1, 1), [-1, -1], [1, 1], [0, 0], np.zeros((1, 2, 2)), [a], [c])


def random_problem(seed, dims=(1, 3, 2), m=3):
    """A problem with everything that the paper's instance lacks."""
    rng = np.random.default_rng(seed)
    n = sum(dims)
    roots = rng.normal(size=(m, 2, n))
    lower = rng.uniform(-3, 0, size=n)
    return Problem(
        dims,
        lower,
        lower + rng.uniform(0.5, 3, size=n),
        rng.normal(size=n),
        np.einsum("jka,jkb->jab", roots, roots),
        rng.normal(size=(m, n)),
        rng.normal(size=m),
        rng.uniform(0.1, 2, size=len(dims)),
    )


def in_units(problem, unit):
    """A problem without linear terms with lengths in another unit."""
    lengths = ("lower", "upper", "targets")
    scaled = {name: unit * getattr(problem, name) for name in lengths}
    return replace(problem, c=unit**2 * problem.c, **scaled)
