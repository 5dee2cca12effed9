r"""The equations of a saddle point: Newton's method, and a proof of closeness.

Hale & Egerstedt (arXiv 1509.08161), Section II-A, Equation 1.

Model. The saddle point of :math:`L_\alpha(x, \mu) = f(x) + \mu^T g(x)
+ \tfrac{\alpha}{2}\|x\|^2 - \tfrac{\alpha}{2}\|\mu\|^2` over the box and
:math:`\mu \ge 0` is where

.. math::
   x = \Pi_X[x - L_x - \alpha x], \qquad \mu = \Pi_{\ge 0}[\mu + g(x) - \alpha\mu].

The largest entry of the difference of the two sides is called the *residual*. It
is computed in numpy from the problem's data alone.

Certificate. Let A hold the active constraints and F the free coordinates. On these,
the equations read :math:`G(z) = 0` for :math:`z = (x_F, \mu_A)`, where G is
quadratic. With

* :math:`\beta \ge \|G'(z)^{-1}\|_2`, from the smallest singular value,
* :math:`\omega = \sqrt2\,(\sum_j \|Q_j\|_2^2)^{1/2}`, a Lipschitz constant of G',
* :math:`\eta \ge \beta \|G(z)\|_2`, with an allowance for the rounding of G,

the Newton-Kantorovich theorem says: if :math:`\beta\omega\eta \le 1/2`, there is one
exact zero within :math:`\rho = 2\eta` of z. If moreover, over that whole ball, every
inactive constraint stays negative, every active multiplier positive, every free
coordinate inside its interval, and the force on every bound keeps its sign, then
that zero satisfies the optimality conditions, which in a convex problem make it a
saddle point; G' being regular it is the only one. So :math:`\rho` bounds the
2-norm error of (x, mu) jointly. Quantities that enter are computed in floating
point, their own relative error (about 1e-13) not being accounted for.

Ties. Rounding cannot tell which side of zero a force is on that is zero: that of a
target on the edge of its box, or of a constraint that just holds at no price. Held
coordinates and inactive constraints may then be wrong by small amounts :math:`t_x` and
:math:`t_\mu`, so that the zero is the saddle point of a problem whose forces are
shifted by these. Let w be the least weight (plus :math:`\alpha`), W the largest, and
:math:`\sigma` the smallest singular value of the rows of J that are active or tied, in
the free coordinates. The forces are monotone, so the states of the two saddle points
are at most :math:`\delta = (|t_x| + \kappa|t_\mu|)/w` apart, and the equations of the
free coordinates put the multipliers within :math:`\kappa\delta`, where
:math:`\kappa = 2(W + q(|\mu| + \rho))/\sigma` and :math:`q^2 = \sum_j \|Q_j\|_2^2`,
as long as :math:`q(\rho + \delta) \le \sigma/2`. That is added to :math:`\rho`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.truthful.problem import (
    Problem,
    constraints,
    jacobian,
    lagrangian_gradient,
    lagrangian_hessian,
)

__all__ = ["certify", "polish", "residual", "smallest_singular_value"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

TIE = 1e-13  # forces and prices below it count as zero
TINY = float(np.finfo(np.float64).tiny)

UNCERTAIN = "The saddle point cannot be certified: "


@dataclass(frozen=True, eq=False)
class _Point:
    """A pair (x, mu), and what the equations say there."""

    problem: Problem
    x: FloatArray
    mu: FloatArray
    alpha: float

    @cached_property
    def forces(self) -> tuple[FloatArray, FloatArray]:
        """Gradients of L_alpha in x, shape (n,), and in mu, shape (m,)."""
        return (
            lagrangian_gradient(self.problem, self.x, self.mu) + self.alpha * self.x,
            constraints(self.problem, self.x) - self.alpha * self.mu,
        )

    @property
    def residual(self) -> float:
        """Largest entry of the difference of the two sides."""
        in_x, in_mu = self.forces
        lower, upper = self.problem.lower, self.problem.upper
        states = self.x - np.clip(self.x - in_x, lower, upper)
        duals = self.mu - np.maximum(self.mu + in_mu, 0.0)
        return float(max(np.abs(states).max(), np.abs(duals).max()))

    def split(self) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Read off which constraints are active, which lower and upper bounds hold.

        The projections of the equations decide; a tie is held, or inactive.
        """
        in_x, in_mu = self.forces
        at_lower = self.x - in_x <= self.problem.lower + TIE
        at_upper = (self.x - in_x >= self.problem.upper - TIE) & ~at_lower
        return self.mu + in_mu > TIE, at_lower, at_upper

    def rounding(self) -> tuple[FloatArray, FloatArray]:
        """Bound the rounding error of `forces`: (terms + 8) u times the sizes summed.

        The smallest normal float is added for what the products lose to underflow.
        """
        problem, alpha = self.problem, self.alpha
        n, m = problem.n_states, problem.n_constraints
        size_x, size_mu = np.abs(self.x), np.abs(self.mu)
        a, c = np.abs(problem.a), np.abs(problem.c)
        slopes = np.abs(problem.Q) @ size_x + a
        in_x = problem.coordinate_weights * (size_x + np.abs(problem.targets))
        in_x = in_x + size_mu @ slopes + alpha * size_x
        in_mu = (slopes + a) @ size_x + c + alpha * size_mu
        unit = 0.5 * np.finfo(np.float64).eps
        return (n + m + 8) * unit * in_x + TINY, (2 * n + 8) * unit * in_mu + TINY

    def derivative(self, free: BoolArray, active: BoolArray) -> FloatArray:
        """Return the derivative G' of the equations on free and active unknowns."""
        hessian = lagrangian_hessian(self.problem, self.mu)
        hessian = hessian + self.alpha * np.eye(self.problem.n_states)
        rows = jacobian(self.problem, self.x)[active][:, free]
        corner = -self.alpha * np.eye(int(active.sum()))
        return np.block([[hessian[np.ix_(free, free)], rows.T], [rows, corner]])


def residual(
    problem: Problem, x: FloatArray, mu: FloatArray, *, alpha: float = 0.0
) -> float:
    """Return how far (x, mu) is from satisfying the saddle-point equations.

    Largest entry of ``x - clip(x - L_x - alpha x)`` and of
    ``mu - max(0, mu + g - alpha mu)``; 0 exactly at the saddle point.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem = hale_egerstedt()
    >>> residual(problem, problem.targets, np.zeros(4))
    1069.0
    """
    return _Point(problem, x, mu, alpha).residual


def polish(
    problem: Problem, x: FloatArray, mu: FloatArray, alpha: float, tolerance: float
) -> tuple[FloatArray, FloatArray, int]:
    """Refine (x, mu) by Newton's method, the active set read off at each step.

    Parameters
    ----------
    problem : Problem
        The instance.
    x, mu : numpy.ndarray, shapes (n,) and (m,)
        Where to start, close to the solution.
    alpha : float
        Weight of the regularisation, zero or greater.
    tolerance : float
        Residual to reach, or the rounding error of the residual itself where
        that is larger. Steps go on while they improve on it.

    Returns
    -------
    x : numpy.ndarray, shape (n,)
        States; a coordinate that a bound holds is exactly on it.
    mu : numpy.ndarray, shape (m,)
        Multipliers; exactly zero where the constraint is inactive.
    iterations : int
        Newton steps taken.

    Raises
    ------
    RuntimeError
        If the residual does not come below the tolerance in 100 steps, or the
        equations are singular on the way.
    """
    last, kept, enough = np.inf, (x, mu), tolerance
    for iteration in range(100):
        # Held coordinates go to their bounds, inactive multipliers to zero.
        active, at_lower, at_upper = _Point(problem, x, mu, alpha).split()
        free = ~(at_lower | at_upper)
        x = np.where(at_lower, problem.lower, np.where(at_upper, problem.upper, x))
        mu = np.where(active, mu, 0.0)
        here = _Point(problem, x, mu, alpha)
        now = here.residual
        # Near rounding error a step no longer helps: keep the better of the two.
        if last <= enough and now >= last:
            return *kept, iteration - 1
        last, kept = now, (x, mu)
        enough = max(tolerance, *(slack.max() for slack in here.rounding()))
        in_x, in_mu = here.forces
        force = np.concatenate((in_x[free], in_mu[active]))
        try:
            move = np.linalg.solve(here.derivative(free, active), -force)
        except np.linalg.LinAlgError as error:
            raise RuntimeError(
                f"Newton's method stopped at a residual of {last:.3g}: the saddle-"
                "point equations are singular there, so their solution may not be "
                "unique (linearly dependent active constraints, or an agent of "
                "weight 0 that none of them holds, can be why)."
            ) from error
        if not np.all(np.abs(move) <= 1e-3 * check.LARGEST):  # nor not a number
            break
        x, mu = x.copy(), mu.copy()
        x[free] += move[: free.sum()]
        mu[active] += move[free.sum() :]
    raise RuntimeError(
        f"Newton's method did not reach a residual of {tolerance:g} on the "
        f"saddle-point equations: it stopped at {last:.3g} (linearly dependent "
        "active constraints can be why)."
    )


def smallest_singular_value(rows: FloatArray) -> float:
    """Return it for the rows as vectors: 0 if they are too many, infinite if none."""
    if len(rows) == 0:
        return np.inf
    if rows.shape[0] > rows.shape[1]:  # svd returns fewer values
        return 0.0
    return float(np.linalg.svd(rows, compute_uv=False)[-1])


def _distance_of_zero(matrix: FloatArray, inexact: FloatArray, omega: float) -> float:
    """Return rho of the Newton-Kantorovich theorem, G' being `matrix`, G `inexact`."""
    if inexact.size == 0:
        return 0.0
    singular = np.linalg.svd(matrix, compute_uv=False)
    # The smallest singular value is itself computed up to rounding.
    smallest = float(singular[-1] - len(singular) * 1e-15 * singular[0])
    if smallest < TINY:
        raise RuntimeError(
            UNCERTAIN + "its active constraints are linearly dependent, so its "
            "multipliers are not unique; or its equations underflow."
        )
    eta = math.hypot(*inexact) / smallest
    number = omega * eta / smallest
    if not number <= 0.5:
        raise RuntimeError(
            UNCERTAIN + f"the Newton-Kantorovich number is {number:.3g}, above 1/2."
        )
    return 2.0 * eta


def certify(
    problem: Problem, x: FloatArray, mu: FloatArray, alpha: float
) -> tuple[float, BoolArray, BoolArray]:
    """Return the error bound of the file's docstring, and the active set.

    Parameters
    ----------
    problem : Problem
        The instance.
    x, mu : numpy.ndarray, shapes (n,) and (m,)
        From `polish`.
    alpha : float
        Weight of the regularisation, zero or greater.

    Returns
    -------
    bound : float
        Bound on the 2-norm distance of (x, mu) from the exact saddle point.
    active : numpy.ndarray of bool, shape (m,)
        Constraints whose multiplier is positive.
    at_bound : numpy.ndarray of bool, shape (n,)
        Coordinates that a bound of the box holds.

    Raises
    ------
    RuntimeError
        If the theorem's conditions are not met: dependent active constraints, a
        point too far off, a tie that an agent without weight makes undecidable, or
        numbers so small that they underflow.
    """
    here = _Point(problem, x, mu, alpha)
    active, at_lower, at_upper = here.split()
    free = ~(at_lower | at_upper)
    held = np.where(at_lower, problem.lower, problem.upper)
    if np.any((x != held) & ~free) or np.any(mu[~active] != 0.0):
        raise RuntimeError(
            UNCERTAIN + "a held coordinate is off its bound, or an inactive "
            "constraint has a multiplier."
        )
    (in_x, in_mu), (slack_x, slack_mu) = here.forces, here.rounding()
    inexact = np.concatenate(
        (np.abs(in_x[free]) + slack_x[free], np.abs(in_mu[active]) + slack_mu[active])
    )
    # hypot scales before it squares: squares of numbers below 1e-162 are zero.
    q = math.hypot(*np.linalg.norm(problem.Q, ord=2, axis=(1, 2)))
    omega = math.sqrt(2.0) * q
    rho = _distance_of_zero(here.derivative(free, active), inexact, omega)
    # Over the ball no inequality may change sign. A force is linear plus at most
    # omega rho^2 / 2; g_j and its gradient likewise.
    whole = here.derivative(np.ones_like(free), np.ones_like(active))
    steep = float(np.linalg.norm(whole, ord=2))
    pinned = problem.lower == problem.upper
    inward = np.where(at_lower, in_x, -in_x)
    change = steep * rho + 0.5 * omega * rho * rho
    wrong_x = np.where(free | pinned, 0.0, slack_x + change - inward)
    wrong_mu = np.where(active, 0.0, in_mu + slack_mu + change)
    tied_x, tied_mu = wrong_x > 0.0, wrong_mu > 0.0
    if tied_x.any() or tied_mu.any():
        rows = jacobian(problem, x)[active | tied_mu][:, free]
        sigma = smallest_singular_value(rows)
        lightest = problem.weights.min() + alpha
        heaviest = problem.weights.max() + alpha
        price = float(np.linalg.norm(mu)) + rho
        kappa = 2.0 * (heaviest + q * price) / sigma if sigma else np.inf
        sizes = np.linalg.norm(wrong_x[tied_x]), np.linalg.norm(wrong_mu[tied_mu])
        delta = (sizes[0] + kappa * sizes[1]) / lightest if lightest else np.inf
        if not q * (rho + delta) <= 0.5 * sigma:
            raise RuntimeError(
                UNCERTAIN + "a force on it is zero to rounding, and its active "
                "constraints are linearly dependent, or some agent has no weight."
            )
        rho += delta * math.hypot(1.0, kappa)
        change = steep * rho + 0.5 * omega * rho * rho
    sure = np.concatenate(
        (
            (-in_mu - slack_mu - change)[~active & ~tied_mu],
            (inward - slack_x - change)[~free & ~pinned & ~tied_x],
            (x - problem.lower)[free] - rho,
            (problem.upper - x)[free] - rho,
            mu[active] - rho,
        )
    )
    if sure.size and sure.min() <= 0.0:
        raise RuntimeError(
            UNCERTAIN + "rounding cannot tell which bounds and constraints hold it "
            f"(to within {sure.min():.3g})."
        )
    return float(rho), active, ~free
