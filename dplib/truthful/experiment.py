r"""The paper's experiment, and what it leaves open, as values.

Hale & Egerstedt (arXiv 1509.08161), Section VI.

Model. One experiment is a run of Algorithm 2 on the paper's instance, truthfully and
with the paper's lie (its agent 6 reports :math:`t_6` in every step) on the same noise.
What comes out are distances from the saddle point, :math:`\|x(k) - \hat x\|_2` and
:math:`\|\mu(k) - \hat\mu\|_2`, and the liar's true cost in both runs.

The text does not say where the run starts, from which k on the steps count, which
Slater point gives the radius of M, or whether noise falls on entries of
:math:`g_{x_i}` that are zero whatever the states are. A `Setting` is one answer to
each; its defaults are the states at 0, k = 1, the Slater point 0, and noise on all
entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.rng import stream
from dplib.truthful.algorithm import StepSizes
from dplib.truthful.constants import multiplier_radius
from dplib.truthful.kernel import Draws
from dplib.truthful.noise import table_one
from dplib.truthful.problem import Problem, agent, agent_objectives, hale_egerstedt
from dplib.truthful.reports import Lie, Pretence
from dplib.truthful.saddle import SaddlePoint, saddle_point
from dplib.truthful.simulation import Simulation, output_draws, run_draws

__all__ = [
    "LIAR",
    "STARTS",
    "Setting",
    "errors",
    "instance",
    "liar_costs",
    "paper_lie",
    "perform",
]

FloatArray = NDArray[np.float64]

#: Index of the paper's agent 6.
LIAR = 5

STARTS = ("zero", "mean target", "uniform", "targets")


@lru_cache(maxsize=1)
def instance() -> tuple[Problem, SaddlePoint]:
    """Return the paper's instance and its saddle point, solved once."""
    problem = hale_egerstedt()
    return problem, saddle_point(problem)


def paper_lie() -> Lie:
    """Return the paper's lie: its agent 6 reports its own target.

    Examples
    --------
    >>> paper_lie()
    Lie(agent=5, report=array([10., 10.]), budget=inf)
    """
    problem = hale_egerstedt()
    return Lie(LIAR, problem.targets[agent(problem, LIAR)])


@dataclass(frozen=True, eq=False)
class Setting:
    """One way to read what the paper leaves open.

    Parameters
    ----------
    start : {"zero", "mean target", "uniform", "targets"}
        States at the start: all 0, all at the mean of the targets, drawn
        uniformly from the boxes (anew for each run), or each at its target.
    mu0 : float
        Every multiplier at the start, 0 or greater.
    first : int
        k of the first step, 1 or greater.
    radius : float, optional
        Bound on the sum of the multipliers; that of the Slater point 0 by
        default.
    draws : Draws, optional
        The noise; Table I on all entries by default.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range.
    """

    start: str = "zero"
    mu0: float = 0.0
    first: int = 1
    radius: float | None = None
    draws: Draws = field(
        default_factory=lambda: output_draws(hale_egerstedt(), table_one())
    )

    def __post_init__(self) -> None:
        check.member("start", self.start, "Setting", STARTS)
        check.nonnegative("mu0", self.mu0, "Setting")
        check.integer("first", self.first, "Setting", low=1)
        if self.radius is not None:
            check.positive("radius", self.radius, "Setting")
        check.instance("draws", self.draws, "Setting", Draws)


def _start(problem: Problem, setting: Setting, rng: np.random.Generator) -> FloatArray:
    n = problem.n_states
    if setting.start == "uniform":
        return rng.uniform(problem.lower, problem.upper)
    if setting.start == "targets":
        return np.clip(problem.targets, problem.lower, problem.upper)
    if setting.start == "mean target":
        mean = problem.targets.reshape(problem.n_agents, -1).mean(axis=0)
        return np.tile(mean, problem.n_agents)
    return np.zeros(n)


def perform(
    seed: int,
    number: int,
    *,
    steps: int,
    setting: Setting | None = None,
    lies: Sequence[Lie | Pretence] = (),
    record: ArrayLike | None = None,
) -> Simulation:
    """Run the experiment once.

    Parameters
    ----------
    seed : int
        Root seed.
    number : int
        Number of the run, 0 or greater. Runs of the same number use the same
        random numbers in all settings, as far as these draw alike.
    steps : int
        Number of steps; the paper's is 250,000.
    setting : Setting, optional
        What is left open; the defaults of `Setting`.
    lies : sequence of Lie or Pretence
        As for `dplib.truthful.simulation.simulate`.
    record : array_like of int, optional
        Likewise; the last step only by default.

    Returns
    -------
    Simulation
        Replica 0 is truthful.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> run = perform(1, 0, steps=100, lies=[paper_lie()])
    >>> run.x.shape
    (2, 1, 16)
    """
    if setting is not None:
        check.instance("setting", setting, "perform", Setting)
    number = check.integer("number", number, "perform", low=0)
    steps = check.integer("steps", steps, "perform", low=1)
    setting = Setting() if setting is None else setting
    problem, _ = instance()
    radius = setting.radius
    if radius is None:
        radius = multiplier_radius(problem, np.zeros(problem.n_states))
    return run_draws(
        problem,
        setting.draws,
        steps=steps,
        radius=radius,
        rng=stream(seed, "truthful", "noise", number),
        sizes=StepSizes(first=setting.first),
        lies=lies,
        x0=_start(problem, setting, stream(seed, "truthful", "start", number)),
        mu0=np.full(problem.n_constraints, setting.mu0),
        record=np.array([steps]) if record is None else record,
    )


def errors(run: Simulation) -> tuple[FloatArray, FloatArray]:
    """Return the distances from the saddle point, of states and of multipliers.

    Parameters
    ----------
    run : Simulation
        Of the paper's instance.

    Returns
    -------
    error_x, error_mu : numpy.ndarray
        2-norms, of the shape of the record without its last axis.

    Examples
    --------
    >>> start = perform(1, 0, steps=1, record=[0])
    >>> [error.round(4) for error in errors(start)]
    [array([[9.5646]]), array([[4.4038]])]
    """
    check.instance("run", run, "errors", Simulation)
    _, point = instance()
    return (
        np.linalg.norm(run.x - point.x, axis=-1),
        np.linalg.norm(run.mu - point.multipliers, axis=-1),
    )


def liar_costs(run: Simulation, liar: int = LIAR) -> FloatArray:
    """Return what one agent truly pays, of the shape of the record, last axis off.

    Examples
    --------
    >>> liar_costs(perform(1, 0, steps=1, lies=[paper_lie()], record=[0]))
    array([[100.],
           [100.]])
    """
    check.instance("run", run, "liar_costs", Simulation)
    problem, _ = instance()
    last = problem.n_agents - 1
    liar = check.integer("liar", liar, "liar_costs", low=0, high=last)
    return np.asarray(agent_objectives(problem, run.x)[..., liar])
