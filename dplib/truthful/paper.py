r"""The paper's own instance and its experiment.

Hale & Egerstedt (arXiv 1509.08161), Section VI and Table I. (The noise of Table I is
`dplib.truthful.noise.table_one`.)

Model. One experiment is a run of Algorithm 2 on the paper's instance, truthfully and
perhaps with the paper's lie (its agent 6 reports :math:`t_6` in every step) on the same
noise. What comes out are distances from the saddle point, :math:`\|x(k) - \hat x\|_2`
and :math:`\|\mu(k) - \hat\mu\|_2`, and the liar's true cost in both runs.

The text does not say where the run starts, from which k on the steps count, which
Slater point gives the radius of M, or whether noise falls on entries of
:math:`g_{x_i}` that are zero whatever the states are. `experiment_plan` takes the
states at 0, k = 1, the Slater point 0, and noise on all entries.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplib.truthful.algorithm import Plan, Simulation
from dplib.truthful.constants import multiplier_radius
from dplib.truthful.noise import table_one
from dplib.truthful.problem import Problem, agent_objectives, pairwise_constraint
from dplib.truthful.reports import Lie
from dplib.truthful.saddle import SaddlePoint, saddle_point

__all__ = [
    "LIAR",
    "PAPER_LIE",
    "errors",
    "experiment_plan",
    "hale_egerstedt",
    "liar_costs",
    "optimum",
]

FloatArray = NDArray[np.float64]

#: Index of the paper's agent 6, and its lie: it always reports its own target.
LIAR = 5
PAPER_LIE = Lie(LIAR, np.array([10.0, 10.0]))


def hale_egerstedt() -> Problem:
    """Return the paper's instance: 8 agents in the plane, 4 constraints.

    Source: Section VI and Table I. Agents here are the paper's less one.

    Examples
    --------
    >>> problem = hale_egerstedt()
    >>> problem.n_agents, problem.n_states, problem.n_constraints
    (8, 16, 4)
    """
    dims = (2,) * 8
    targets = [6, -4, 2, 2, -7, 7, 8, -9, 3, -7, 10, 10, -10, -10, 6, -6]
    terms = [
        pairwise_constraint(dims, [(0, 1), (0, 2)], limit=5.0),
        pairwise_constraint(dims, [(3, 4), (3, 5)], limit=3.0),
        pairwise_constraint(dims, [(6, 7), (6, 5)], limit=3.0),
        pairwise_constraint(dims, [(4, 2), (4, 6)], limit=5.0),
    ]
    Q, a, c = (np.array(part) for part in zip(*terms, strict=True))
    return Problem(
        dims, np.full(16, -10.0), np.full(16, 10.0), np.array(targets), Q, a, c
    )


@lru_cache(maxsize=1)
def optimum() -> SaddlePoint:
    """Return the saddle point of the paper's instance, solved once."""
    return saddle_point(hale_egerstedt())


def experiment_plan(**changes: Any) -> Plan:
    """Return the paper's run, 250,000 steps with the noise of Table I.

    Parameters
    ----------
    **changes
        Fields of `Plan` that are to be others.

    Examples
    --------
    >>> plan = experiment_plan(lies=[PAPER_LIE])
    >>> plan.record, round(plan.radius, 4)
    (array([250000]), 138.8333)
    """
    problem = hale_egerstedt()
    paper: dict[str, Any] = {
        "radius": multiplier_radius(problem, np.zeros(problem.n_states)),
        "record": np.array([250_000]),
        "scales": table_one(),
    }
    return Plan(problem, **(paper | changes))


def errors(run: Simulation) -> tuple[FloatArray, FloatArray]:
    """Return a run's distances from the optimum (Figure 2): states, multipliers.

    They are 2-norms, of the shape of the record without its last axis.

    Examples
    --------
    >>> from dplib.rng import stream
    >>> from dplib.truthful.algorithm import simulate
    >>> start = simulate(experiment_plan(record=[0]), stream(1))
    >>> [error.round(4) for error in errors(start)]
    [array([[9.5646]]), array([[4.4038]])]
    """
    return (
        np.linalg.norm(run.x - optimum().x, axis=-1),
        np.linalg.norm(run.mu - optimum().multipliers, axis=-1),
    )


def liar_costs(run: Simulation) -> FloatArray:
    """Return what the paper's agent 6 truly pays (Figure 3), shaped as the record."""
    return np.asarray(agent_objectives(hale_egerstedt(), run.x)[..., LIAR])
