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
from dplib.truthful.constants import constraint_lipschitz, influence
from dplib.truthful.problem import Problem

__all__ = [
    "NOISE_SHAPES",
    "NoiseScales",
    "calibrated",
    "noise_support",
    "sensitivity_matrix",
    "table_one",
    "trajectory_adjacency",
]

FloatArray = NDArray[np.float64]

NOISE_SHAPES = ("full", "structural")


@dataclass(frozen=True, eq=False)
class NoiseScales:
    """Laplace scales of Algorithm 2's noise, each 0 or greater.

    Parameters
    ----------
    b_g : float
        Scale of w_g, on every entry of g.
    b : array_like, shape (N,)
        Scales of w_1, ..., w_N.

    Examples
    --------
    >>> NoiseScales(4.0, [1.0, 2.0]).scaled(0.5)
    NoiseScales(b_g=2.0, b=array([0.5, 1. ]))
    """

    b_g: float
    b: FloatArray

    def __post_init__(self) -> None:
        b = check.array("b", self.b, "NoiseScales", shape=(None,))
        if b.size == 0 or np.any(b < 0.0):
            must = "one number >= 0 for each of N >= 1 agents"
            check.fail("b", "NoiseScales", must, self.b)
        b_g = check.nonnegative("b_g", self.b_g, "NoiseScales")
        object.__setattr__(self, "b_g", b_g)
        object.__setattr__(self, "b", b)

    @property
    def stacked(self) -> FloatArray:
        """All scales in one vector, b_g first, shape (N + 1,)."""
        return np.array([self.b_g, *self.b])

    def scaled(self, factor: float) -> NoiseScales:
        """Return all scales times `factor`, 0 or greater; 0 gives no noise."""
        return NoiseScales(self.b_g * factor, self.b * factor)


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

    B, positive, bounds :math:`\sum_k \|u_i(k) - \tilde u_i(k)\|_1`, summed over *all*
    steps.

    Examples
    --------
    >>> trajectory_adjacency(3).radius
    3.0
    """
    return Adjacency(
        name="one agent's trajectory",
        unit="one agent's reported states at all times; the others' are equal",
        norm="l1",
        radius=check.positive("B", B, "trajectory_adjacency"),
    )


def sensitivity_matrix(problem: Problem) -> FloatArray:
    r"""Return how far one agent's move carries what the cloud computes from it.

    Source: Lemma 6, before the largest over all agents is taken.

    Returns
    -------
    numpy.ndarray, shape (N, N + 1)
        Row i: change in l1 per unit of l1 that agent i alone moves, of g (column 0,
        :math:`K_{g,i}`, for reports in the boxes) and of :math:`g_{x_j}` (column
        1 + j, :math:`L_{j \leftarrow i}`). The largest of each column, times B, is
        the sensitivity of Lemma 6.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> sensitivity_matrix(hale_egerstedt()).max(axis=0)
    array([120.,   4.,   2.,   4.,   4.,   6.,   4.,   6.,   2.])
    """
    K = constraint_lipschitz(problem)
    return np.column_stack([K, influence(problem).T])


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

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> calibrated(hale_egerstedt(), adjacency=trajectory_adjacency(3.0), epsilon=1.5)
    NoiseScales(b_g=240.0, b=array([ 8.,  4.,  8.,  8., 12.,  8., 12.,  4.]))
    """
    if adjacency.norm != "l1":
        check.fail("adjacency", "calibrated", "in the l1 norm", adjacency.norm)
    sensitivities = sensitivity_matrix(problem).max(axis=0) * adjacency.radius
    scales = [
        laplace_scale(sensitivity=one, epsilon=epsilon) if one > 0.0 else 0.0
        for one in sensitivities.tolist()
    ]
    return NoiseScales(scales[0], np.array(scales[1:]))


def noise_support(problem: Problem, shape: str) -> NDArray[np.bool_]:
    """Return which entries of the stacked g_x get noise, shape (m, n).

    Columns of agent i belong to w_i; `shape` is explained at the head of the file.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> for shape in NOISE_SHAPES:
    ...     print(noise_support(hale_egerstedt(), shape).sum())
    64
    24
    """
    check.member("shape", shape, "noise_support", NOISE_SHAPES)
    if shape == "full":
        return np.ones_like(problem.a, dtype=bool)
    return np.asarray(np.any(problem.Q != 0.0, axis=2) | (problem.a != 0.0))
