"""Cost of privacy of growing teams with two states: Figure 6, with all mechanisms.

One task is one cell: number of agents, probability p, discount and adjacency parameter
b, of which the paper gives only the first and the last (b = 2). Its rows are the arms
of `dplib.rewards.cost`. All arms of a team share their random numbers.

Columns as in ``grid.py``.
"""

import numpy as np

from dplib.rewards.cost import ARMS, arms, costs_of_privacy
from dplib.rewards.mechanism import standard_draw
from dplib.rewards.paper import example_one
from dplib.rng import stream

PARAMETERS = {
    "seed": 2026,
    "samples": 2000,
    "agents": [2, 3, 4, 5, 6],
    "p": ["0.8", "0.9", "0.95", "1"],
    "discount": ["0.9", "0.99"],
    "b": [1, 2],
    "epsilon": 1.0,
    "delta": 0.1,
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-5}
TASK = ("agents", "p", "discount", "b")
COLUMNS = (
    *("group", "mechanism", "mean", "error", "more", "more_error"),
    *("q05", "q25", "q50", "q75", "q95", "stays", "largest"),
)


def tasks():
    """Return every cell."""
    return [
        (agents, p, discount, b)
        for agents in PARAMETERS["agents"]
        for p in PARAMETERS["p"]
        for discount in PARAMETERS["discount"]
        for b in PARAMETERS["b"]
    ]


def run(agents, p, discount, b):
    """Return one row for each arm."""
    example = example_one(agents, float(p), discount=float(discount))
    model = example.model
    laws = arms(
        model.actions,
        bound=b,
        epsilon=PARAMETERS["epsilon"],
        delta=PARAMETERS["delta"],
    )
    rng = stream(PARAMETERS["seed"], "rewards/teams", agents)
    samples = PARAMETERS["samples"]
    draw = standard_draw(model.n_states, model.actions, samples=samples, rng=rng)
    found = {arm: costs_of_privacy(example, laws[arm].noise(draw)) for arm in ARMS}
    rows = []
    for group, mechanism in ARMS:
        one = found[group, mechanism]
        own = one.percent[:, 0]
        more = own - found[group, "input"].percent[:, 0]
        numbers = (
            *(own.mean(), error(own), more.mean(), error(more)),
            *np.quantile(own, [0.05, 0.25, 0.5, 0.75, 0.95]),
            *(one.stays.mean(), one.largest.mean()),
        )
        # Six decimals: the values are certified to more, the means to far less.
        rows.append((group, mechanism, *(round(float(x), 6) for x in numbers)))
    return rows


def error(sample):
    """Return the standard error of a mean."""
    return sample.std(ddof=1) / np.sqrt(sample.size)
