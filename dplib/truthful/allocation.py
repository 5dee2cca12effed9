r"""The repair of Theorem 2: noise that really gives epsilon, uniform and optimal.

Hale & Egerstedt (arXiv 1509.08161), Theorem 2, repaired.

Model. With :math:`p_c = 1/b_c` for every channel c (the prices and the N gradients)
the upper bounds of `dplib.truthful.joint_privacy` are linear,

.. math:: \varepsilon_i = \sum_c A_{ic}\, p_c , \qquad
          A_{ig} = B K_{g,i}, \quad A_{ij} = B L_{j \leftarrow i}\ (j \ne i) ,

and epsilon-joint differential privacy asks :math:`A p \le \varepsilon` in every row.

- *Uniform*: all scales of Lemmas 5 and 6 times the largest
  :math:`\varepsilon_i/\varepsilon`.
- *Optimal*: the least weighted noise power :math:`\sum_c w_c b_c^2 = \sum_c w_c/p_c^2`,
  a convex program in p. For every :math:`\lambda \ge 0`, with
  :math:`s_c = \sum_i \lambda_i A_{ic}`,

  .. math:: \sum_c 3 w_c^{1/3} (s_c/2)^{2/3} - \varepsilon \sum_i \lambda_i

  is a lower bound on every feasible power (weak duality: minimise
  :math:`w/p^2 + s p` over p). A solver's multipliers give the certificate; nothing
  else about the solver is trusted.

Only this file and `dplib.truthful.saddle` know of cvxpy.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib.privacy.adjacency import Adjacency
from dplib.truthful.joint_privacy import heard_sensitivities, joint_epsilons
from dplib.truthful.noise import NoiseScales, calibrated, noise_support
from dplib.truthful.problem import Problem, agent

__all__ = [
    "ALLOCATION_SOLVERS",
    "Allocation",
    "noise_power_weights",
    "optimal_allocation",
    "uniform_repair",
]

FloatArray = NDArray[np.float64]

ALLOCATION_SOLVERS: dict[str, dict[str, Any]] = {
    "CLARABEL": {},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000},
}
CONVERGED = 1e-4  # relative duality gap above which a result raises


@dataclass(frozen=True, eq=False)
class Allocation:
    """Noise scales with a certificate.

    Attributes
    ----------
    scales : NoiseScales
        Feasible: every epsilon_i, rounded up, is at most epsilon.
    power : float
        Weighted noise power of these scales.
    bound : float
        A lower bound on the power of *all* feasible scales (weak duality).
    residual : float
        Relative gap between the two; one above 1e-4 raises.
    """

    scales: NoiseScales
    power: float
    bound: float
    residual: float


def noise_power_weights(problem: Problem, mu: ArrayLike, *, shape: str) -> FloatArray:
    r"""Return weights w such that sum w b^2 is the noise in one step at prices mu.

    The variance that the noise adds to all messages and to the ascent direction of
    the prices, before the step size squared: :math:`2 m b_g^2` and, for agent j,
    :math:`2 b_j^2 \sum_{l,c} \mu_l^2` over the entries that get noise.

    Parameters
    ----------
    problem : Problem
        The instance.
    mu : array_like, shape (m,)
        Prices, for example at the saddle point.
    shape : {"full", "structural"}
        Shape of the noise.

    Returns
    -------
    numpy.ndarray, shape (N + 1,)
        The prices first.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> noise_power_weights(hale_egerstedt(), np.ones(4), shape="structural")
    array([8., 4., 4., 8., 4., 8., 8., 8., 4.])
    """
    entries = 2.0 * np.asarray(mu) ** 2 @ noise_support(problem, shape)
    each = [entries[agent(problem, j)].sum() for j in range(problem.n_agents)]
    return np.array([2.0 * problem.n_constraints, *each])


def uniform_repair(
    problem: Problem, *, adjacency: Adjacency, epsilon: float
) -> NoiseScales:
    """Return the scales of Lemmas 5 and 6, all enlarged by one factor.

    Every epsilon_i, rounded up, is then at most `epsilon`. The factor is the largest
    epsilon_i / epsilon, or 1 if that is less, to rounding.

    Examples
    --------
    >>> from dplib.truthful.noise import trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> uniform_repair(hale_egerstedt(), adjacency=trajectory_adjacency(3.0),
    ...                epsilon=17 / 6).b.round(9)
    array([12.,  6., 12., 12., 18., 12., 18.,  6.])
    """
    base = calibrated(problem, adjacency=adjacency, epsilon=epsilon)
    return _enlarged(problem, base, adjacency, epsilon, floor=1.0)


def optimal_allocation(
    problem: Problem,
    *,
    adjacency: Adjacency,
    epsilon: float,
    weights: FloatArray,
    solver: str = "CLARABEL",
) -> Allocation:
    """Return scales of least weighted noise power that give epsilon to everybody.

    Parameters
    ----------
    problem : Problem
        The instance.
    adjacency : Adjacency
        In the l1 norm.
    epsilon : float
        Privacy parameter, positive.
    weights : numpy.ndarray, shape (N + 1,)
        Weights w_c, positive, the prices first; see `noise_power_weights`.
    solver : {"CLARABEL", "SCS"}
        Interior-point method, or operator splitting.

    Raises
    ------
    RuntimeError
        If the solver fails, or its certificate leaves a relative gap above 1e-4.

    Examples
    --------
    >>> from dplib.truthful.noise import trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> best = optimal_allocation(hale_egerstedt(), epsilon=1.0, weights=np.ones(9),
    ...                           adjacency=trajectory_adjacency(3.0))
    >>> best.bound <= best.power <= best.bound * (1 + 1e-5)
    True
    """
    base = calibrated(problem, adjacency=adjacency, epsilon=epsilon).stacked
    A = adjacency.radius * heard_sensitivities(problem)
    used = A.any(axis=0)  # a channel that tells nobody anything needs no noise
    b = np.zeros_like(base)
    if not np.any(used):
        return Allocation(NoiseScales(0.0, b[1:]), 0.0, 0.0, 0.0)

    # In units of the lemmas' scales all numbers are near 1.
    rows = A[:, used] / (base[used] * epsilon)
    cost = weights[used] * base[used] ** 2
    unit = float(cost.sum())
    z, multipliers = _solve(rows, cost / unit, solver)

    b[used] = base[used] / z
    found = NoiseScales(float(b[0]), b[1:])
    found = _enlarged(problem, found, adjacency, epsilon, floor=0.0)
    s = multipliers @ rows
    dual = np.sum(3.0 * np.cbrt(cost / unit) * np.cbrt(s / 2.0) ** 2)
    bound = float(dual - multipliers.sum()) * unit
    power = float(weights @ found.stacked**2)
    gap = (power - bound) / power
    if not gap <= CONVERGED:
        raise RuntimeError(
            f"{solver} did not solve the allocation: the relative duality gap is "
            f"{gap:.3g}, above {CONVERGED:g}."
        )
    return Allocation(found, power, bound, gap)


def _solve(
    rows: FloatArray, cost: FloatArray, solver: str
) -> tuple[FloatArray, FloatArray]:
    """Minimise sum cost / z^2 where rows @ z <= 1; return z and the multipliers."""
    z = cp.Variable(cost.size, pos=True)
    budget = rows @ z <= 1.0
    program = cp.Problem(cp.Minimize(cost @ cp.power(z, -2)), [budget])
    try:
        with warnings.catch_warnings():
            # An inaccurate solution is judged by its certificate.
            warnings.simplefilter("ignore", UserWarning)
            program.solve(solver=solver, verbose=False, **ALLOCATION_SOLVERS[solver])
    except cp.SolverError as error:
        raise RuntimeError(f"{solver} failed on the allocation ({error})") from error
    if z.value is None or budget.dual_value is None:
        raise RuntimeError(f"{solver} found no allocation: '{program.status}'.")
    return np.asarray(z.value), np.maximum(np.ravel(budget.dual_value), 0.0)


def _enlarged(
    problem: Problem,
    scales: NoiseScales,
    adjacency: Adjacency,
    epsilon: float,
    *,
    floor: float,
) -> NoiseScales:
    """Scale so that the largest epsilon_i is epsilon, and not above it."""
    worst = float(joint_epsilons(problem, scales, adjacency=adjacency).max())
    factor = max(worst / epsilon, floor)
    result = scales.scaled(factor)
    # One unit in the last place, until the exactly computed epsilons comply.
    while joint_epsilons(problem, result, adjacency=adjacency).max() > epsilon:
        factor = float(np.nextafter(factor, np.inf))
        result = scales.scaled(factor)
    return result
