r"""What lying can be worth: the bounds of Section V.

Hale & Egerstedt (arXiv 1509.08161), Section V: Lemmas 7 and 8, Theorem 3.

Model. Agent i reports something else than its state; its true state follows the
replies it receives. Its *gain* at step k is the expected cost :math:`E f_i(x_i(k))`
when it is truthful minus the one when it lies. With a Slater point
:math:`\bar x`, the Lipschitz constant K_i of f_i and the 1-norm diameter D_i of X_i,

.. math::
   \lambda_i = f_i(\bar x_i) + K_i D_i, \qquad
   \rho_i = \min\{K_i D_i,\ 2\lambda_i\}.

Lemma 7: :math:`f_i \le \lambda_i` on X_i. Lemma 8: two values of f_i differ by at most
:math:`\rho_i`. Theorem 3: the gain is at most :math:`\beta`, printed as
:math:`2 \max_i \rho_i + \epsilon\lambda_i`. Lemma 8 and Theorem 3 are true where costs
are :math:`\ge 0`, as they are here; the cost x - 1000 on [0, 1] makes :math:`\rho_i`
and :math:`\beta` negative.

Two remarks. Both runs take their values in the range of f_i over X_i, so no gain,
private or not, exceeds its width, which is at most :math:`K_i D_i`, whatever the sign
of the cost (`objective_range`). And a gain never exceeds the truthful cost less the
least value of f_i.

`dplib.truthful.deterrence` has a bound that does use privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.truthful.constants import diameter, objective_lipschitz
from dplib.truthful.problem import (
    Problem,
    agent_objectives,
    constraints,
    is_slater_point,
)

__all__ = [
    "READINGS",
    "objective_range",
    "lemma7_bounds",
    "lemma8_bounds",
    "beta",
    "linear_step_limit",
]

FloatArray = NDArray[np.float64]

#: Readings of beta, from the smallest to the largest.
READINGS: dict[str, str] = {
    "printed": "2 max_j rho_j + epsilon lambda_i",
    "proof": "2 rho_i + 2 epsilon lambda_i",
    "braced": "2 max_j {rho_j + epsilon lambda_j}",
}


def objective_range(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest value of each f_i over X_i, exactly.

    The cost is a sum over coordinates, each least at the nearest point of its
    interval to the target and largest at the end that is further away.

    Parameters
    ----------
    problem : Problem
        The instance.

    Returns
    -------
    low, high : numpy.ndarray, shape (N,)
        Their difference bounds every gain of agent i.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> low, high = objective_range(hale_egerstedt())
    >>> low.max(), high
    (np.float64(0.0), array([226. , 144. , 289. , 342.5, 229. , 400. , 400. , 256. ]))
    """
    check.instance("problem", problem, "objective_range", Problem)
    lower, upper, targets = problem.lower, problem.upper, problem.targets
    far = np.where(np.abs(upper - targets) > np.abs(lower - targets), upper, lower)
    near = np.clip(targets, lower, upper)
    return agent_objectives(problem, near), agent_objectives(problem, far)


def _slater(problem: Problem, slater: ArrayLike, where: str) -> FloatArray:
    point = check.array("slater", slater, where, shape=(problem.n_states,))
    if not is_slater_point(problem, point):
        largest = float(constraints(problem, point).max())
        must = "in the box with every constraint below zero"
        check.fail("slater", where, must, f"largest constraint {largest:.6g}")
    return point


def lemma7_bounds(problem: Problem, slater: ArrayLike) -> FloatArray:
    r"""Return :math:`\lambda_i = f_i(\bar x_i) + K_i D_i`, a bound on f_i over X_i.

    Source: Lemma 7. (Its proof multiplies 2-norms of gradient and distance, but
    K_i bounds the inf-norm of the gradient; inf-norm times 1-norm is what holds.)

    Parameters
    ----------
    problem : Problem
        The instance.
    slater : array_like, shape (n,)
        A point of X with g < 0 everywhere. (The lemma needs a point of X only.)

    Returns
    -------
    numpy.ndarray, shape (N,)
        The bounds.

    Raises
    ------
    TypeError, ValueError
        If `slater` is not a Slater point.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> lemma7_bounds(hale_egerstedt(), np.zeros(16))
    array([666. , 484. , 729. , 832.5, 709. , 900. , 900. , 676. ])
    """
    check.instance("problem", problem, "lemma7_bounds", Problem)
    point = _slater(problem, slater, "lemma7_bounds")
    reach = objective_lipschitz(problem) * diameter(problem)
    return np.asarray(agent_objectives(problem, point) + reach)


def lemma8_bounds(problem: Problem, slater: ArrayLike) -> FloatArray:
    r"""Return :math:`\rho_i = \min\{K_i D_i, 2\lambda_i\}`, shape (N,).

    Source: Lemma 8. The costs here are never negative, so :math:`\lambda_i \ge
    K_i D_i` and the minimum is always the first of the two.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> lemma8_bounds(hale_egerstedt(), np.zeros(16))
    array([640., 480., 680., 760., 680., 800., 800., 640.])
    """
    check.instance("problem", problem, "lemma8_bounds", Problem)
    point = _slater(problem, slater, "lemma8_bounds")
    reach = objective_lipschitz(problem) * diameter(problem)
    return np.asarray(np.minimum(reach, 2.0 * lemma7_bounds(problem, point)))


def beta(
    problem: Problem, slater: ArrayLike, *, epsilon: float, reading: str = "printed"
) -> FloatArray:
    r"""Return Theorem 3's bound on the gain of each agent.

    Parameters
    ----------
    problem : Problem
        The instance.
    slater : array_like, shape (n,)
        A Slater point; beta depends on which.
    epsilon : float
        Privacy parameter, greater than zero, nats.
    reading : {"printed", "proof", "braced"}
        ``"printed"``: :math:`2 \max_j \rho_j + \epsilon\lambda_i`.
        ``"proof"``: :math:`2\rho_i + 2\epsilon\lambda_i`, the sum of the terms that
        the proof adds up.
        ``"braced"``: :math:`2 \max_j \{\rho_j + \epsilon\lambda_j\}`, which is what the
        print becomes if a pair of braces is supplied; it covers what the proof
        gives for every agent.

    Returns
    -------
    numpy.ndarray, shape (N,)
        Bounds; all equal in the reading ``"braced"``.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem, slater, eps = hale_egerstedt(), np.zeros(16), float(np.log(3))
    >>> for reading in READINGS:
    ...     bounds = beta(problem, slater, epsilon=eps, reading=reading)
    ...     print(reading, bounds[5].round(4))
    printed 2588.7511
    proof 3577.5021
    braced 3577.5021
    """
    check.instance("problem", problem, "beta", Problem)
    where = "beta"
    epsilon = check.positive("epsilon", epsilon, where)
    check.member("reading", reading, where, READINGS)
    point = _slater(problem, slater, where)
    rho, lam = lemma8_bounds(problem, point), lemma7_bounds(problem, point)
    if reading == "printed":
        return np.asarray(2.0 * rho.max() + epsilon * lam)
    each = 2.0 * (rho + epsilon * lam)
    return np.asarray(each if reading == "proof" else np.full_like(each, each.max()))


def linear_step_limit() -> float:
    r"""Return the largest epsilon with :math:`e^\epsilon \le 1 + 2\epsilon`.

    Source: proof of Theorem 3, before Eq. (20), which uses the inequality for
    epsilon in (0, 1). The difference of the two sides is concave, 0 at 0 and
    positive at 1, so it holds from 0 up to its second zero, and nowhere beyond.

    Returns
    -------
    float
        That zero, to rounding error, found by bisection between 1 and 2.

    Examples
    --------
    >>> round(linear_step_limit(), 9)
    1.256431209
    """
    low, high = 1.0, 2.0
    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            return low
        if 2.0 * middle >= np.expm1(middle):
            low = middle
        else:
            high = middle
