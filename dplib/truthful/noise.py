r"""Scales of the noise that the cloud adds: as printed, and as the lemmas ask.

Hale & Egerstedt (arXiv 1509.08161), Algorithm 2, Lemmas 5 and 6, Table I.

Model. At every step k the cloud draws fresh, independent Laplace noise of two kinds.
Agent i receives :math:`\tilde q_i(k) = (g_{x_i}(x(k)) + w_i(k))^T \mu(k)` with
:math:`w_i \sim \mathrm{Lap}(b_i)`; the multipliers ascend along
:math:`g(x(k)) + w_g(k)` with :math:`w_g \sim \mathrm{Lap}(b_g)`, m entries.

:math:`g_{x_i}` is an m by n_i matrix, and most of its entries are zero whatever the
states are, since few constraints touch an agent. Two shapes of w_i are considered:

- ``"full"``, the literal reading of Lemma 5: every entry of the matrix gets noise,
  those that are always zero too;
- ``"structural"``: only entries that can be other than zero get noise. The privacy
  is that of the noisy matrices in either case, but a structural :math:`\tilde q_i`
  is less noisy, and hides less.

Units. A scale b_i is in units of g_{x_i}, b_g in units of g. Zero means no noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.privacy.adjacency import Adjacency
from dplib.privacy.laplace import laplace_scale
from dplib.truthful.constants import constraint_lipschitz, gradient_lipschitz
from dplib.truthful.problem import Problem

__all__ = [
    "NOISE_SHAPES",
    "NoiseScales",
    "calibrated",
    "matching",
    "noise_support",
    "sensitivities",
    "table_one",
    "trajectory_adjacency",
    "trajectory_radius",
]

FloatArray = NDArray[np.float64]

NOISE_SHAPES = ("full", "structural")


@dataclass(frozen=True, eq=False)
class NoiseScales:
    """Laplace scales of Algorithm 2's noise.

    Parameters
    ----------
    b_g : float
        Scale of w_g, on every entry of g; 0 or greater.
    b : array_like, shape (N,)
        Scales of w_1, ..., w_N; 0 or greater.

    Raises
    ------
    TypeError, ValueError
        If a scale is negative, or neither 0 nor between 1e-60 and 1e60.

    Examples
    --------
    >>> NoiseScales(4.0, [1.0, 2.0]).scaled(0.5)
    NoiseScales(b_g=2.0, b=array([0.5, 1. ]))
    """

    b_g: float
    b: FloatArray

    def __post_init__(self) -> None:
        where = "NoiseScales"
        b = check.array("b", self.b, where, shape=(None,))
        if b.size == 0 or np.any(b < 0.0):
            check.fail("b", where, "one number >= 0 for each of N >= 1 agents", self.b)
        b_g = check.nonnegative("b_g", self.b_g, where)
        for name, scale in [("b_g", b_g), *(("b", one) for one in b)]:
            if scale > 0.0:  # losses divide by it
                check.positive(name, float(scale), where)
        object.__setattr__(self, "b_g", b_g)
        object.__setattr__(self, "b", b)

    def scaled(self, factor: float) -> NoiseScales:
        """Return all scales times `factor`, 0 or greater; 0 gives no noise."""
        factor = check.nonnegative("factor", factor, "NoiseScales.scaled")
        return NoiseScales(self.b_g * factor, self.b * factor)


def matching(problem: Problem, scales: NoiseScales, where: str) -> NoiseScales:
    """Return `scales` if they are for as many agents as the problem has.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> matching(hale_egerstedt(), table_one(), "f").b_g
    327.69
    """
    check.instance("problem", problem, "matching", Problem)
    check.instance("scales", scales, where, NoiseScales)
    if scales.b.size != problem.n_agents:
        must = f"for {problem.n_agents} agents"
        check.fail("scales", where, must, scales.b.tolist())
    return scales


def table_one() -> NoiseScales:
    """Return the scales of the paper's simulation, as printed.

    Source: Table I, and Section VI for b_g. They go with `hale_egerstedt`.

    Examples
    --------
    >>> table_one()
    NoiseScales(b_g=327.69, b=array([10.92,  5.46,  5.46, 10.92, 16.38, 10.92, 16.38,  \
5.46]))
    """
    return NoiseScales(
        327.69, np.array([10.92, 5.46, 5.46, 10.92, 16.38, 10.92, 16.38, 5.46])
    )


def trajectory_adjacency(B: float) -> Adjacency:
    r"""Return Definition 1 with p = 1: one agent's whole reported trajectory.

    Parameters
    ----------
    B : float
        Radius, positive: the bound on :math:`\sum_k \|u_i(k) - \tilde u_i(k)\|_1`,
        summed over *all* steps.

    Examples
    --------
    >>> trajectory_adjacency(3).radius
    3.0
    """
    radius = check.positive("B", B, "trajectory_adjacency")
    return Adjacency(
        name="one agent's trajectory",
        unit="one agent's reported states at all times; the others' are equal",
        norm="l1",
        radius=radius,
    )


def trajectory_radius(adjacency: Adjacency, where: str) -> float:
    """Return the radius B of an adjacency that Lemmas 5 and 6 can be used with.

    Raises
    ------
    TypeError, ValueError
        If it is not in the l1 norm, or B not between 1e-60 and 1e60.

    Examples
    --------
    >>> trajectory_radius(trajectory_adjacency(3), "f")
    3.0
    """
    check.instance("adjacency", adjacency, where, Adjacency)
    if adjacency.norm != "l1":
        check.fail("adjacency", where, "in the l1 norm", adjacency.norm)
    return check.positive("adjacency.radius", adjacency.radius, where)


def sensitivities(
    problem: Problem, *, adjacency: Adjacency
) -> tuple[float, FloatArray]:
    r"""Return the l1 sensitivities of Lemma 6, :math:`K_g B` and :math:`L_{g,i} B`.

    Parameters
    ----------
    problem : Problem
        The instance.
    adjacency : Adjacency
        In the l1 norm; its radius is B.

    Returns
    -------
    delta_g : float
        Of g, if reports stay in the boxes.
    delta : numpy.ndarray, shape (N,)
        Of each g_{x_i}.

    Raises
    ------
    TypeError, ValueError
        If the adjacency is not in the l1 norm.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> sensitivities(hale_egerstedt(), adjacency=trajectory_adjacency(3.0))
    (360.0, array([12.,  6., 12., 12., 18., 12., 18.,  6.]))
    """
    check.instance("problem", problem, "sensitivities", Problem)
    B = trajectory_radius(adjacency, "sensitivities")
    return (
        float(constraint_lipschitz(problem).max() * B),
        gradient_lipschitz(problem) * B,
    )


def calibrated(
    problem: Problem, *, adjacency: Adjacency, epsilon: float
) -> NoiseScales:
    r"""Return the least scales that Lemmas 5 and 6 ask for, rounded up.

    Source: Section IV-B, :math:`b_g \ge K_g B/\epsilon` and
    :math:`b_i \ge L_{g,i} B/\epsilon`. This makes *each* of the N + 1 noisy
    quantities epsilon-private when it is released alone; for what they give
    together see `dplib.truthful.joint_privacy`.

    Parameters
    ----------
    problem : Problem
        The instance.
    adjacency : Adjacency
        In the l1 norm; its radius is B.
    epsilon : float
        Privacy parameter, positive.

    Returns
    -------
    NoiseScales
        A scale is 0 where the sensitivity is (a gradient that is constant).

    Raises
    ------
    TypeError, ValueError
        If epsilon is not positive, or the adjacency is not in the l1 norm.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> scales = calibrated(hale_egerstedt(), adjacency=trajectory_adjacency(3.0),
    ...                     epsilon=1.5)
    >>> scales
    NoiseScales(b_g=240.0, b=array([ 8.,  4.,  8.,  8., 12.,  8., 12.,  4.]))
    """
    check.instance("problem", problem, "calibrated", Problem)
    check.instance("adjacency", adjacency, "calibrated", Adjacency)
    epsilon = check.positive("epsilon", epsilon, "calibrated")
    delta_g, delta = sensitivities(problem, adjacency=adjacency)

    def scale(sensitivity: float) -> float:
        if sensitivity == 0.0:
            return 0.0
        return laplace_scale(sensitivity=sensitivity, epsilon=epsilon)

    return NoiseScales(scale(delta_g), np.array([scale(float(s)) for s in delta]))


def noise_support(problem: Problem, shape: str) -> NDArray[np.bool_]:
    """Return which entries of the stacked g_x get noise.

    Parameters
    ----------
    problem : Problem
        The instance.
    shape : {"full", "structural"}
        See the head of the file.

    Returns
    -------
    numpy.ndarray of bool, shape (m, n)
        Columns of agent i belong to w_i.

    Raises
    ------
    TypeError, ValueError
        If `shape` is another word.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> noise_support(hale_egerstedt(), "full").sum()
    np.int64(64)
    >>> noise_support(hale_egerstedt(), "structural").sum()
    np.int64(24)
    """
    check.instance("problem", problem, "noise_support", Problem)
    check.member("shape", shape, "noise_support", NOISE_SHAPES)
    if shape == "full":
        return np.ones_like(problem.a, dtype=bool)
    return np.asarray(np.any(problem.Q != 0.0, axis=2) | (problem.a != 0.0))
