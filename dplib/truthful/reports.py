r"""What an agent tells the cloud: the truth, a constant, or a pretended life.

Hale & Egerstedt (arXiv 1509.08161), Section II-C and Definition 1.

Model. In step k agent i, whose true state is :math:`x_i(k)`, aims at a made-up state
:math:`y_i(k)`:

- a `Lie` aims at the same state in every step (in the paper's simulation agent 6 of
  the paper reports its own target);
- a `Pretence` aims at the state of an agent with another target or weight, which
  receives the same messages and moves by the same rule. With weight 0 it is the life
  of an agent without wishes.

Budget. Adjacency allows a trajectory to change by at most B in the 1-norm, *summed
over all steps*. A liar with a budget reports :math:`y_i(k)` as long as what it has left
pays for :math:`\|y_i(k) - x_i(k)\|_1`; in the step where it does not, the liar goes
towards :math:`y_i(k)` as far as it does, and reports the truth ever after.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.truthful.kernel import CONSTANT, PRETENCE, TRUTH, Replicas
from dplib.truthful.problem import Problem, agent

__all__ = ["Lie", "Pretence", "replicas"]

FloatArray = NDArray[np.float64]


def _check(lie: Lie | Pretence, name: str) -> None:
    where = type(lie).__name__
    check.integer("agent", lie.agent, where, low=0)
    told = check.array(name, getattr(lie, name), where, shape=(None,))
    object.__setattr__(lie, name, told)  # the way into a frozen class
    if not lie.budget >= 0.0:  # infinity is allowed
        check.fail("budget", where, "a number, 0 or greater", lie.budget)


@dataclass(frozen=True, eq=False)
class Lie:
    """Agent `agent` reports the same state in every step.

    Parameters
    ----------
    agent : int
        Who lies, 0 to N - 1.
    report : array_like, shape (n_i,)
        What it reports. The cloud does not know the boxes, so any state will do.
    budget : float
        1-norm that all deviations from its true state may add up to, 0 or
        greater; infinite by default.

    Examples
    --------
    >>> Lie(5, [10, 10])
    Lie(agent=5, report=array([10., 10.]), budget=inf)
    """

    agent: int
    report: FloatArray
    budget: float = math.inf

    def __post_init__(self) -> None:
        _check(self, "report")


@dataclass(frozen=True, eq=False)
class Pretence:
    """Agent `agent` reports the life of an agent with other wishes.

    Parameters
    ----------
    agent : int
        Who lies, 0 to N - 1.
    target : array_like, shape (n_i,)
        Target that it pretends to have.
    weight : float
        Weight that it pretends to give to it, 0 or greater.
    budget : float
        As for `Lie`.

    Examples
    --------
    >>> Pretence(5, [0, 0], weight=0.0)
    Pretence(agent=5, target=array([0., 0.]), weight=0.0, budget=inf)
    """

    agent: int
    target: FloatArray
    weight: float = 1.0
    budget: float = math.inf

    def __post_init__(self) -> None:
        check.nonnegative("weight", self.weight, "Pretence")
        _check(self, "target")


def replicas(
    problem: Problem, lies: Sequence[Lie | Pretence], x0: FloatArray
) -> Replicas:
    """Return the reports of a truthful replica and of one replica for each lie.

    The truthful one is the first. A pretence starts at the states `x0`, shape (n,).

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> both = replicas(hale_egerstedt(), [Lie(5, [10, 10])], np.zeros(16))
    >>> both.kind[:, 5], both.shown[1, 10:12]
    (array([0, 1]), array([10., 10.]))
    """
    count, agents = len(lies) + 1, problem.n_agents
    kind = np.full((count, agents), TRUTH, dtype=np.int64)
    shown = np.tile(x0, (count, 1))
    targets = np.tile(problem.targets, (count, 1))
    weights = np.tile(problem.weights, (count, 1))
    budget = np.full((count, agents), np.inf)
    for r, lie in enumerate(lies, start=1):
        i = check.integer("agent", lie.agent, "a lie", low=0, high=agents - 1)
        mine, size = agent(problem, i), problem.dims[i]
        told = lie.report if isinstance(lie, Lie) else lie.target
        if told.size != size:
            must = f"lies of {size} coordinates for agent {i}"
            check.fail("lies", "Plan", must, lie)
        budget[r, i] = lie.budget
        if isinstance(lie, Lie):
            kind[r, i], shown[r, mine] = CONSTANT, told
        else:
            kind[r, i], targets[r, mine], weights[r, i] = PRETENCE, told, lie.weight
    return Replicas(kind, shown, targets, weights, budget)
