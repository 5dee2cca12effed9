"""What is left of the convergence where the noise really gives epsilon.

Five mechanisms that give every agent epsilon, for the whole run and by proof, at four
values of epsilon: the paper's noise, all of it enlarged by the factor that composition
asks for (``uniform``), or shared out again so that the noise in a step is least at
multipliers of 10 each, a public guess (``allocated``), either with noise on all entries
of g_x or on the ``structural`` ones; and noise on the reports (``input``).

One row a pair of runs on the same noise; ``error_x``, ``error_mu``, ``truthful`` and
``lying`` as in finals.
"""

from functools import cache

import numpy as np

from dplib.book.rounding import rounded
from dplib.privacy.laplace import laplace_scale
from dplib.rng import stream
from dplib.truthful.algorithm import simulate
from dplib.truthful.allocation import (
    noise_power_weights,
    optimal_allocation,
    uniform_repair,
)
from dplib.truthful.noise import trajectory_adjacency
from dplib.truthful.paper import (
    PAPER_LIE,
    errors,
    experiment_plan,
    hale_egerstedt,
    liar_costs,
)

PARAMETERS = {
    "seed": 2026,
    "steps": 250_000,
    "runs": 60,
    "B": 3.0,
    "epsilon": [0.1, 0.3, 1.0986122886681098, 3.0],
    "guess": 10.0,
    "mechanisms": [
        "uniform",
        "uniform structural",
        "allocated",
        "allocated structural",
        "input",
    ],
}
# The solver of the allocation is good to seven digits, not to the last.
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-4}
TASK = ("mechanism", "level", "run")
COLUMNS = ("epsilon", "error_x", "error_mu", "truthful", "lying")


@cache
def plan(mechanism, epsilon):
    """Return the plan of one mechanism at one epsilon."""
    problem = hale_egerstedt()
    rest = {"record": [PARAMETERS["steps"]], "lies": [PAPER_LIE]}
    if mechanism == "input":
        scale = laplace_scale(sensitivity=PARAMETERS["B"], epsilon=epsilon)
        return experiment_plan(scales=None, report_scale=scale, **rest)
    adjacency = trajectory_adjacency(PARAMETERS["B"])
    shape = "structural" if "structural" in mechanism else "full"
    if "uniform" in mechanism:
        scales = uniform_repair(problem, adjacency=adjacency, epsilon=epsilon)
    else:
        guess = np.full(problem.n_constraints, PARAMETERS["guess"])
        weights = noise_power_weights(problem, guess, shape=shape)
        scales = optimal_allocation(
            problem, adjacency=adjacency, epsilon=epsilon, weights=weights
        ).scales
    return experiment_plan(scales=scales, shape=shape, **rest)


def tasks():
    """Return all runs of all mechanisms at all values of epsilon."""
    return [
        (mechanism, level, number)
        for mechanism in PARAMETERS["mechanisms"]
        for level in range(len(PARAMETERS["epsilon"]))
        for number in range(PARAMETERS["runs"])
    ]


def run(mechanism, level, number):
    """Run one pair."""
    epsilon = PARAMETERS["epsilon"][level]
    rng = stream(PARAMETERS["seed"], "truthful", "noise", number)
    done = simulate(plan(mechanism, epsilon), rng)
    error_x, error_mu = errors(done)
    costs = liar_costs(done)
    values = (error_x[0, 0], error_mu[0, 0], costs[0, 0], costs[1, 0])
    return [[epsilon, *map(rounded, values)]]
