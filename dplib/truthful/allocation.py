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

Only this file and `dplib.truthful.convex` know of cvxpy.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.privacy.adjacency import Adjacency
from dplib.truthful.constants import constraint_lipschitz, influence
from dplib.truthful.joint_privacy import joint_epsilons
from dplib.truthful.noise import (
    NoiseScales,
    calibrated,
    noise_support,
    trajectory_radius,
)
from dplib.truthful.problem import Problem, agent

__all__ = [
    "ALLOCATION_SOLVERS",
    "Allocation",
    "budget_matrix",
    "noise_power",
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
        Relative gap between the two.
    multipliers : numpy.ndarray, shape (N,)
        Prices of the agents' budgets; positive where privacy is scarce.
    converged : bool
        Always true: a larger gap raises.
    """

    scales: NoiseScales
    power: float
    bound: float
    residual: float
    multipliers: FloatArray
    converged: bool


def budget_matrix(problem: Problem, *, adjacency: Adjacency) -> FloatArray:
    """Return A, shape (N, N + 1): epsilon_i per unit of 1/b_c, the prices first.

    Examples
    --------
    >>> from dplib.truthful.noise import trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> budget_matrix(hale_egerstedt(), adjacency=trajectory_adjacency(3.0))[1]
    array([120.,   6.,   0.,   0.,   0.,   0.,   0.,   0.,   0.])
    """
    check.instance("problem", problem, "budget_matrix", Problem)
    B = trajectory_radius(adjacency, "budget_matrix")
    seen = influence(problem).T.copy()
    np.fill_diagonal(seen, 0.0)  # what agent i hears itself does not count
    heard = problem.n_agents > 1  # the prices reach an agent in what others get
    columns = [constraint_lipschitz(problem) * heard, *seen.T]
    return B * np.column_stack(columns)


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
    check.instance("problem", problem, "noise_power_weights", Problem)
    where = "noise_power_weights"
    prices = check.array("mu", mu, where, shape=(problem.n_constraints,))
    entries = 2.0 * prices**2 @ noise_support(problem, shape)
    each = [entries[agent(problem, j)].sum() for j in range(problem.n_agents)]
    return np.array([2.0 * problem.n_constraints, *each])


def noise_power(scales: NoiseScales, weights: ArrayLike) -> float:
    """Return sum w_c b_c^2 for weights of shape (N + 1,), the prices first.

    Examples
    --------
    >>> noise_power(NoiseScales(2.0, [1.0, 3.0]), [1.0, 1.0, 2.0])
    23.0
    """
    check.instance("scales", scales, "noise_power", NoiseScales)
    w = check.array("weights", weights, "noise_power", shape=(scales.b.size + 1,))
    return float(w @ np.array([scales.b_g, *scales.b]) ** 2)


def uniform_repair(
    problem: Problem, *, adjacency: Adjacency, epsilon: float
) -> NoiseScales:
    """Return the scales of Lemmas 5 and 6, all enlarged by one factor.

    Parameters
    ----------
    problem : Problem
        The instance.
    adjacency : Adjacency
        In the l1 norm.
    epsilon : float
        Privacy parameter, positive.

    Returns
    -------
    NoiseScales
        Every epsilon_i, rounded up, is at most `epsilon`. The factor is the
        largest of `calibrated_factors`, or 1 if that is less, to rounding.

    Examples
    --------
    >>> from dplib.truthful.noise import trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> uniform_repair(hale_egerstedt(), adjacency=trajectory_adjacency(3.0),
    ...                epsilon=17 / 6).b.round(9)
    array([12.,  6., 12., 12., 18., 12., 18.,  6.])
    """
    check.instance("problem", problem, "uniform_repair", Problem)
    check.instance("adjacency", adjacency, "uniform_repair", Adjacency)
    base = calibrated(problem, adjacency=adjacency, epsilon=epsilon)
    return _enlarged(problem, base, adjacency, epsilon, floor=1.0)


def optimal_allocation(
    problem: Problem,
    *,
    adjacency: Adjacency,
    epsilon: float,
    weights: ArrayLike,
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
    weights : array_like, shape (N + 1,)
        Weights w_c, positive, the prices first; see `noise_power_weights`.
    solver : {"CLARABEL", "SCS"}
        Interior-point method, or operator splitting.

    Returns
    -------
    Allocation
        With a duality gap, at most 1e-4 of the power.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    RuntimeError
        If the solver fails, or its certificate leaves a larger gap.

    Examples
    --------
    >>> from dplib.truthful.noise import trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> best = optimal_allocation(hale_egerstedt(), epsilon=1.0, weights=np.ones(9),
    ...                           adjacency=trajectory_adjacency(3.0))
    >>> best.bound <= best.power <= best.bound * (1 + 1e-5)
    True
    """
    check.instance("problem", problem, "optimal_allocation", Problem)
    check.instance("adjacency", adjacency, "optimal_allocation", Adjacency)
    where = "optimal_allocation"
    epsilon = check.positive("epsilon", epsilon, where)
    check.member("solver", solver, where, ALLOCATION_SOLVERS)
    w = check.array("weights", weights, where, shape=(problem.n_agents + 1,))
    if np.any(w <= 0.0):
        check.fail("weights", where, "positive", w.tolist())
    A = budget_matrix(problem, adjacency=adjacency)
    used = A.any(axis=0)  # a channel that tells nobody anything needs no noise
    scales = calibrated(problem, adjacency=adjacency, epsilon=epsilon)
    if not np.any(used):
        silent = NoiseScales(0.0, np.zeros(problem.n_agents))
        return Allocation(silent, 0.0, 0.0, 0.0, np.zeros(problem.n_agents), True)

    # In units of the lemmas' scales all numbers are near 1.
    base = np.array([scales.b_g, *scales.b])[used]
    rows = A[:, used] / (base * epsilon)
    cost = w[used] * base**2
    unit = float(cost.sum())
    z = cp.Variable(int(used.sum()), pos=True)
    budget = rows @ z <= 1.0
    program = cp.Problem(cp.Minimize(cost / unit @ cp.power(z, -2)), [budget])
    try:
        with warnings.catch_warnings():
            # An inaccurate solution is judged by its certificate, below.
            warnings.simplefilter("ignore", UserWarning)
            program.solve(solver=solver, verbose=False, **ALLOCATION_SOLVERS[solver])
    except cp.SolverError as error:
        raise RuntimeError(f"{solver} failed on the allocation ({error})") from error
    if z.value is None or budget.dual_value is None:
        raise RuntimeError(f"{solver} found no allocation: '{program.status}'.")

    b = np.zeros(problem.n_agents + 1)
    b[used] = base / np.asarray(z.value)
    found = NoiseScales(float(b[0]), b[1:])
    found = _enlarged(problem, found, adjacency, epsilon, floor=0.0)
    multipliers = np.maximum(np.ravel(budget.dual_value), 0.0)
    s = multipliers @ rows
    dual = np.sum(3.0 * np.cbrt(cost / unit) * np.cbrt(s / 2.0) ** 2)
    bound = float(dual - multipliers.sum()) * unit
    power = noise_power(found, w)
    gap = (power - bound) / power
    if not gap <= CONVERGED:
        raise RuntimeError(
            f"{solver} did not solve the allocation: the relative duality gap is "
            f"{gap:.3g}, above {CONVERGED:g}."
        )
    return Allocation(found, power, bound, gap, multipliers * unit / epsilon, True)


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
