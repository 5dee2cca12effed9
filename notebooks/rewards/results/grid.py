"""Cost of privacy on the grid of Example 2: Figure 8, with all mechanisms.

One task is one cell: largest reward, adjacency parameter b, and epsilon. Its rows are
the arms of `dplib.rewards.cost`, for two joint starts: the corner opposite to the goal,
and the goal. All arms and all cells share their random numbers.

``mean`` and ``error`` are the mean cost in percent and its standard error; ``more`` and
``more_error`` the mean difference to input perturbation in the same group, in pairs,
and its standard error; ``q05`` to ``q95`` quantiles of the cost; ``stays`` the share of
private policies that stay at the goal, ``largest`` the share of private rewards whose
largest entry is still the goal's.
"""

from functools import lru_cache

import numpy as np

from dplib.rewards.cost import ARMS, arms, costs_of_privacy
from dplib.rewards.mechanism import standard_draw
from dplib.rewards.paper import example_two
from dplib.rng import stream

PARAMETERS = {
    "seed": 2026,
    "samples": 1000,
    "blocks": 10,
    "r_max": [5, 50],
    "b": [1, 2],
    "epsilon": ["0.1", "0.2", "0.5", "1", "1.3", "2", "3", "4", "6", "8", "10"],
    "delta": 0.1,
    "discount": 0.99,
    "slip": "other action",
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-5}
TASK = ("r_max", "b", "epsilon")
COLUMNS = (
    *("group", "mechanism", "start", "mean", "error", "more", "more_error"),
    *("q05", "q25", "q50", "q75", "q95", "stays", "largest"),
)


@lru_cache(maxsize=2)
def team(r_max):
    """Return the example, whose optimum is computed once."""
    return example_two(r_max, discount=PARAMETERS["discount"], law=PARAMETERS["slip"])


def tasks():
    """Return every cell."""
    return [
        (r_max, b, epsilon)
        for r_max in PARAMETERS["r_max"]
        for b in PARAMETERS["b"]
        for epsilon in PARAMETERS["epsilon"]
    ]


def run(r_max, b, epsilon):
    """Return one row for each arm and start."""
    example = team(r_max)
    model = example.model
    laws = arms(
        model.actions, bound=b, epsilon=float(epsilon), delta=PARAMETERS["delta"]
    )
    size = PARAMETERS["samples"] // PARAMETERS["blocks"]
    found = {arm: [] for arm in ARMS}
    for block in range(PARAMETERS["blocks"]):
        rng = stream(PARAMETERS["seed"], "rewards/grid", block)
        draw = standard_draw(model.n_states, model.actions, samples=size, rng=rng)
        for arm in ARMS:
            noise = laws[arm].noise(draw)
            starts = [example.start, example.goal_state]
            found[arm].append(costs_of_privacy(example, noise, starts=starts))
    rows = []
    for at, start in enumerate(("far", "goal")):
        percent = {
            arm: np.concatenate([one.percent[:, at] for one in found[arm]])
            for arm in ARMS
        }
        for group, mechanism in ARMS:
            own = percent[group, mechanism]
            more = own - percent[group, "input"]
            parts = found[group, mechanism]
            numbers = (
                *(own.mean(), error(own), more.mean(), error(more)),
                *np.quantile(own, [0.05, 0.25, 0.5, 0.75, 0.95]),
                np.mean([one.stays.mean() for one in parts]),
                np.mean([one.largest.mean() for one in parts]),
            )
            # Six decimals: the values are certified to more, the means to far less.
            rows.append(
                (group, mechanism, start, *(round(float(x), 6) for x in numbers))
            )
    return rows


def error(sample):
    """Return the standard error of a mean."""
    return sample.std(ddof=1) / np.sqrt(sample.size)
