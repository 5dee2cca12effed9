"""Where 250,000 steps end, for each reading of what the paper leaves open.

One row a pair of runs on the same noise. ``error_x`` and ``error_mu`` are distances
from the saddle point at the end of the truthful run; ``truthful`` and ``lying`` what
the paper's agent 6 truly pays at the end of either run, the lie being the paper's;
``hits_truthful`` and ``hits_lying`` count the steps in which the bound on the sum of
the multipliers acted. Runs of the same number share their random numbers.
"""

from functools import lru_cache

import numpy as np

from dplib.book.rounding import rounded
from dplib.truthful.constants import multiplier_radius
from dplib.truthful.experiment import (
    Setting,
    errors,
    instance,
    liar_costs,
    paper_lie,
    perform,
)
from dplib.truthful.noise import calibrated, table_one, trajectory_adjacency
from dplib.truthful.simulation import output_draws

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
def settings():
    """Return the setting of each variant."""
    problem, _ = instance()
    mean = np.tile(problem.targets.reshape(8, 2).mean(axis=0), 8)

    def noise(factor=1.0, scales=None, shape="full"):
        scales = table_one() if scales is None else scales
        return {"draws": output_draws(problem, scales.scaled(factor), shape)}

    corrected = calibrated(
        problem, adjacency=trajectory_adjacency(3.0), epsilon=float(np.log(3.0))
    )
    choices = {
        "baseline": {},
        "structural": noise(shape="structural"),
        "agent 3 corrected": noise(scales=corrected),
        "start mean": {"start": "mean target"},
        "start uniform": {"start": "uniform"},
        "start targets": {"start": "targets"},
        "mu 1": {"mu0": 1.0},
        "k from 2": {"first": 2},
        "k from 100": {"first": 100},
        "radius consensus": {"radius": multiplier_radius(problem, mean)},
        "radius none": {"radius": 1.0e9},
        "noise 1/2": noise(0.5),
        "noise 1/sqrt2": noise(0.5**0.5),
        "noise 2": noise(2.0),
        "noise 17/6": noise(17 / 6),
        "noise 10.99": noise(float(np.log(3.0)) / 0.1),
    }
    return {name: Setting(**choice) for name, choice in choices.items()}


def tasks():
    """Return all runs of all variants."""
    runs = PARAMETERS["runs"]
    return [(name, number) for name in runs for number in range(runs[name])]


def run(variant, number):
    """Run one pair."""
    done = perform(
        PARAMETERS["seed"],
        number,
        steps=PARAMETERS["steps"],
        setting=settings()[variant],
        lies=[paper_lie()],
    )
    error_x, error_mu = errors(done)
    costs = liar_costs(done)
    values = (error_x[0, 0], error_mu[0, 0], costs[0, 0], costs[1, 0])
    return [[*map(rounded, values), *done.hits]]
