"""The settings of the paper, and those that only the authors' published code has.

Section 7 prints the three tasks, the budgets and delta. Beta, the norm C, the size of a
message, the two rates and the number of receivers in the noise are from the published
code (github.com/CANVOLCANO/DPMAC), as are the length of an episode and of a run.
"""

from __future__ import annotations

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
    "noise_sigma",
]

BUDGETS = (1.0, 0.1, 0.01)
"""Section 7: the three values of epsilon."""

DELTA = 1e-4
"""Section 7: delta, on all tasks."""

TASKS = {
    "CN": Task("cooperative navigation", steps=25, receivers=2),
    "CCN": Task("cooperative communication and navigation", steps=25, receivers=1),
    "PP": Task("predator prey", steps=40, receivers=2),
}
"""Section 7: the tasks; numbers from the published code."""

BETA = 0.5
"""Published code: how the budget is split."""

NORM = 0.5
"""Published code: the norm C to which a private message is scaled."""

MESSAGE_SIZE = 8
"""Published code: coordinates of a message."""

NOISE_RECEIVERS = 2
"""Published code: gamma_2 N in the variance, for all tasks."""

RUN_STEPS = 1_000_000
"""Published code: steps of a training run."""


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
