"""Where 250,000 steps end, for each reading of what the paper leaves open.

One row a pair of runs on the same noise. ``error_x`` and ``error_mu`` are distances
from the saddle point at the end of the truthful run; ``truthful`` and ``lying`` what
the paper's agent 6 truly pays at the end of either run, the lie being the paper's;
``hits_truthful`` and ``hits_lying`` count the steps in which the bound on the sum of
the multipliers acted. Runs of the same number share their random numbers.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from dplib.book.rounding import rounded
from dplib.rng import stream
from dplib.truthful.algorithm import StepSizes, simulate
from dplib.truthful.constants import multiplier_radius
from dplib.truthful.noise import calibrated, table_one, trajectory_adjacency
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
    "runs": {
        "baseline": 400,
        "structural": 60,
        "agent 3 corrected": 60,
        "start mean": 60,
        "start uniform": 60,
        "start targets": 60,
        "mu 1": 60,
        "k from 2": 60,
        "k from 100": 60,
        "radius consensus": 60,
        "radius none": 60,
        "noise 1/2": 60,
        "noise 1/sqrt2": 60,
        "noise 2": 60,
        "noise 17/6": 60,
        "noise 10.99": 60,
    },
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-5}
TASK = ("variant", "run")
COLUMNS = (
    *("error_x", "error_mu", "truthful", "lying"),
    *("hits_truthful", "hits_lying"),
)


@lru_cache(maxsize=1)
def plans():
    """Return the plan of each variant, but for the start that is drawn in each run."""
    problem = hale_egerstedt()
    mean = np.tile(problem.targets.reshape(8, 2).mean(axis=0), 8)
    base = experiment_plan(record=[PARAMETERS["steps"]], lies=[PAPER_LIE])

    def noise(factor):
        return {"scales": table_one().scaled(factor)}

    corrected = calibrated(
        problem, adjacency=trajectory_adjacency(3.0), epsilon=float(np.log(3.0))
    )
    choices = {
        "baseline": {},
        "structural": {"shape": "structural"},
        "agent 3 corrected": {"scales": corrected},
        "start mean": {"x0": mean},
        "start uniform": {},
        "start targets": {"x0": problem.targets},
        "mu 1": {"mu0": np.ones(4)},
        "k from 2": {"sizes": StepSizes(first=2)},
        "k from 100": {"sizes": StepSizes(first=100)},
        "radius consensus": {"radius": multiplier_radius(problem, mean)},
        "radius none": {"radius": 1.0e9},
        "noise 1/2": noise(0.5),
        "noise 1/sqrt2": noise(0.5**0.5),
        "noise 2": noise(2.0),
        "noise 17/6": noise(17 / 6),
        "noise 10.99": noise(float(np.log(3.0)) / 0.1),
    }
    return {name: replace(base, **choice) for name, choice in choices.items()}


def tasks():
    """Return all runs of all variants."""
    runs = PARAMETERS["runs"]
    return [(name, number) for name in runs for number in range(runs[name])]


def run(variant, number):
    """Run one pair."""
    plan = plans()[variant]
    if variant == "start uniform":
        start = stream(PARAMETERS["seed"], "truthful", "start", number)
        box = plan.problem.lower, plan.problem.upper
        plan = replace(plan, x0=start.uniform(*box))
    done = simulate(plan, stream(PARAMETERS["seed"], "truthful", "noise", number))
    error_x, error_mu = errors(done)
    costs = liar_costs(done)
    values = (error_x[0, 0], error_mu[0, 0], costs[0, 0], costs[1, 0])
    return [[*map(rounded, values), *done.hits]]
