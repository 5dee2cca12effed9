"""Learning curves by a replayed actor-critic, the paper's estimator: Figure 2.

One task is a task of the paper, a way to talk (MADDPG, which does not; DPMAC; TarMAC;
I2C) and a budget, whose noise is that of the authors' published code. A row has the
mean return of greedy episodes, noise on, of every seed.
"""

from dplib.dpmac import replay
from dplib.dpmac.agents import Team
from dplib.dpmac.paper import TASKS, check_plan, noise_sigma
from dplib.dpmac.worlds import WORLDS
from dplib.rng import stream

PARAMETERS = {
    "seed": 2026,
    "worlds": ["CCN", "CN"],
    "iterations": [2500, 2500],  # in each of the worlds
    "every": 125,
    "episodes": 256,
}
AGREEMENT = {"rule": "learning", "deviations": 8.0, "seconds": 60.0}
TASK = ("world", "talk", "epsilon")
COLUMNS = ("moves", "seed0", "seed1", "seed2", "seed3", "seed4")
TALKS = {
    "none": ["none"],
    "dpmac": ["none", "1"],
    "tarmac": ["none", "1"],
    "i2c": ["none", "1"],
}


def tasks():
    """Return every way to talk with every budget, world by world."""
    check_plan(PARAMETERS, "dpmac/replayed")
    return [
        (world, talk, epsilon)
        for world in PARAMETERS["worlds"]
        for talk, budgets in TALKS.items()
        for epsilon in budgets
    ]


def run(world, talk, epsilon, points=None):
    """Return a row for each evaluation, or for the first of them."""
    noise = None
    if epsilon != "none":
        noise = noise_sigma(TASKS[world], epsilon=float(epsilon))
    found = replay.train(
        Team(WORLDS[world], talk, noise),
        stream(PARAMETERS["seed"], "dpmac/replayed", world, talk, epsilon),
        iterations=PARAMETERS["iterations"][PARAMETERS["worlds"].index(world)],
        every=PARAMETERS["every"],
        episodes=PARAMETERS["episodes"],
        points=points,
    )
    return [
        (int(moves), *(round(float(x), 3) for x in row))
        for moves, row in zip(found.moves, found.returns, strict=True)
    ]


def first(world, talk, epsilon):
    """Return the rows of the first three evaluations."""
    return run(world, talk, epsilon, points=3)
