"""The settings of the paper, and those that only the authors' published code has.

Section 7 prints the three tasks, the budgets and delta. Beta, the norm C, the size of a
message, the two rates and the number of receivers in the noise are from the published
code (github.com/CANVOLCANO/DPMAC), as are the length of an episode and of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dplib import check
from dplib.dpmac.account import Task, theorem_sigma

__all__ = [
    "BETA",
    "BUDGETS",
    "DELTA",
    "MESSAGE_SIZE",
    "NOISE_RECEIVERS",
    "NORM",
    "RUN_STEPS",
    "TASKS",
    "check_plan",
    "noise_sigma",
]

BUDGETS = (1.0, 0.1, 0.01)
"""The three values of epsilon, Section 7."""

DELTA = 1e-4
"""Delta of all tasks, Section 7."""

TASKS = {
    "CN": Task("cooperative navigation", steps=25, receivers=2),
    "CCN": Task("cooperative communication and navigation", steps=25, receivers=1),
    "PP": Task("predator prey", steps=40, receivers=2),
}
"""The tasks of Section 7, with numbers from the published code."""

BETA = 0.5
"""How the published code splits the budget."""

NORM = 0.5
"""The norm C to which the published code scales a private message."""

MESSAGE_SIZE = 8
"""Coordinates of a message in the published code."""

NOISE_RECEIVERS = 2
"""What the published code has for gamma_2 N in the variance, for all tasks."""

RUN_STEPS = 1_000_000
"""Steps of a training run of the published code."""


def noise_sigma(task: Task, *, epsilon: float) -> float:
    """Return the deviation of the noise in the published code, per coordinate.

    Examples
    --------
    >>> round(noise_sigma(TASKS["CN"], epsilon=1.0), 6)
    0.659563
    """
    return theorem_sigma(
        epsilon=epsilon,
        delta=DELTA,
        beta=BETA,
        gamma1=task.rate,
        gamma2=1.0,
        N=NOISE_RECEIVERS,
        C=NORM,
    )


def check_plan(plan: Mapping[str, Any], where: str) -> None:
    """Refuse a plan of training that cannot be carried out, before it starts.

    Examples
    --------
    >>> check_plan({"worlds": ["CCN"], "iterations": [410], "every": 25, "seed": 1,
    ...             "episodes": 256}, "learning")
    Traceback (most recent call last):
        ...
    ValueError: The 'iterations' parameter of learning must be a multiple of 25 for \
each of the worlds. Got [410] instead.
    """
    every = check.integer("every", plan["every"], where, low=1)
    check.integer("episodes", plan["episodes"], where, low=1)
    check.integer("seed", plan["seed"], where, low=0)
    for world in plan["worlds"]:
        check.member("worlds", world, where, TASKS)
    counts = plan["iterations"]
    if len(counts) != len(plan["worlds"]) or any(
        n < every or n % every for n in counts
    ):
        must = f"a multiple of {every} for each of the worlds"
        check.fail("iterations", where, must, counts)
