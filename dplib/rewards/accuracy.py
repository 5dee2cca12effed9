r"""How wrong private rewards are: the largest error over all of them.

Benvenuti et al., Section 4: Theorem 3, equation 4, Corollary 1; Appendices B and C.

Model. With input perturbation every joint reward is off by the mean of N independent
:math:`N(0, \sigma^2)`, so by a Gaussian of deviation :math:`\sigma / \sqrt N`. There
are K = nm joint rewards, and the errors of those that share an agent's entry are
dependent. The quantity of interest is :math:`E \max_l |y_l|`.

Three upper bounds, none of which needs independence:

- Theorem 3, :math:`C \sigma` with
  :math:`C = \sqrt{2/(N \pi)} + \sqrt{(1 - 2/\pi)(K - 1)/N}`: mean plus deviation of
  one entry times :math:`\sqrt{K - 1}`. It uses two moments and grows like
  :math:`\sqrt K`.
- The *logarithmic* bound :math:`\sigma \sqrt{2 \log(2K) / N}`: K Gaussians and their
  negatives are 2K Gaussians, and :math:`E \max \le \sqrt{2 \log(2K)}` for any 2K
  standard ones (through the moment generating function and Jensen's inequality).
- *Šidák's* bound, the value for independent errors of the same deviation: for jointly
  Gaussian y, :math:`P(\max |y_l| \le t) \ge \prod_l P(|y_l| \le t)`.

With one agent the errors are independent, and Šidák's bound is the exact value. For
more agents the maximum is sampled without ever forming the table: in one state the
largest mean over joint actions is the mean of each agent's largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, special

from dplib import check
from dplib.privacy._numeric import real_array
from dplib.rewards.tables import action_counts, few_entries

__all__ = [
    "accuracy_bound",
    "accuracy_factor",
    "epsilon_for_accuracy",
    "independent_maximum",
    "log_bound",
    "sampled_maxima",
    "sidak_bound",
    "value_loss_bound",
]

FloatArray = NDArray[np.float64]


def accuracy_factor(*, n_agents: int, pairs: int) -> float:
    r"""Return C of equation 4, the bound of Theorem 3 in units of sigma.

    Parameters
    ----------
    n_agents : int
        N, 1 or more.
    pairs : int
        K = nm, the number of joint state-action pairs, 1 or more.

    Returns
    -------
    float
        :math:`\sqrt{2/(N\pi)} + \sqrt{(1 - 2/\pi)(K - 1)/N}`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(accuracy_factor(n_agents=1, pairs=8), 4)
    2.3928
    >>> abs(accuracy_factor(n_agents=2, pairs=1) - 1 / math.sqrt(math.pi)) < 1e-15
    True
    """
    n, pairs = _size(n_agents, pairs, "accuracy_factor")
    spread = (1.0 - 2.0 / math.pi) * (pairs - 1) / n
    return math.sqrt(2.0 / (n * math.pi)) + math.sqrt(spread)


def accuracy_bound(*, sigma: float, n_agents: int, pairs: int) -> float:
    """Return the bound of Theorem 3 on the expected largest error.

    Parameters
    ----------
    sigma : float
        Deviation of the noise on every agent's rewards, positive.
    n_agents, pairs : int
        As for `accuracy_factor`.

    Returns
    -------
    float
        In the unit of the rewards.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> bound = accuracy_bound(sigma=2.0, n_agents=1, pairs=8)
    >>> bound == 2 * accuracy_factor(n_agents=1, pairs=8)
    True
    """
    sigma = check.positive("sigma", sigma, "accuracy_bound")
    return sigma * accuracy_factor(n_agents=n_agents, pairs=pairs)


def log_bound(*, sigma: float, n_agents: int, pairs: int) -> float:
    r"""Return :math:`\sigma \sqrt{2 \log(2K) / N}`, which grows with log K only.

    Parameters
    ----------
    sigma, n_agents, pairs
        As for `accuracy_bound`.

    Returns
    -------
    float
        In the unit of the rewards.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(log_bound(sigma=1.0, n_agents=2, pairs=6400), 4)
    3.0753
    """
    where = "log_bound"
    sigma = check.positive("sigma", sigma, where)
    n, pairs = _size(n_agents, pairs, where)
    return sigma * math.sqrt(2.0 * math.log(2.0 * pairs) / n)


def independent_maximum(count: int) -> tuple[float, float]:
    r"""Return E max of `count` independent :math:`|N(0, 1)|`, and an error bound.

    Parameters
    ----------
    count : int
        1 or more.

    Returns
    -------
    value : float
        :math:`\int_0^\infty 1 - \mathrm{erf}(x/\sqrt2)^{count}\, dx`.
    bound : float
        On its absolute error: what the quadrature estimates, and the tail left out.

    Raises
    ------
    TypeError, ValueError
        If `count` is not such an integer.

    Examples
    --------
    >>> value, bound = independent_maximum(1)
    >>> abs(value - math.sqrt(2 / math.pi)) <= bound < 1e-9
    True
    >>> round(independent_maximum(8)[0], 6)
    1.783367
    """
    count = check.integer("count", count, "independent_maximum", low=1, high=10**12)

    def above(x: float) -> float:
        # P(some |y| > x), from the log of P(one |y| <= x).
        outside = 2.0 * float(special.ndtr(-x))
        if outside >= 1.0:
            return 1.0
        return -math.expm1(count * math.log1p(-outside))

    edge = math.sqrt(2.0 * math.log(2.0 * count))  # the law is gathered below it
    value, bound = 0.0, 0.0
    for low, high in ((0.0, 0.5 * edge), (0.5 * edge, edge), (edge, edge + 12.0)):
        part, error = integrate.quad(above, low, high, epsabs=1e-13, epsrel=1e-13)
        value += part
        bound += error
    # Beyond: at most count times the tail integral, below exp(-72) / 6.
    return value, bound + 1e-15 * (1.0 + value)


def sidak_bound(*, sigma: float, n_agents: int, pairs: int) -> float:
    """Return the expected largest error, were the errors independent.

    Exact for one agent; an upper bound for more (Šidák's inequality).

    Parameters
    ----------
    sigma, n_agents, pairs
        As for `accuracy_bound`.

    Returns
    -------
    float
        In the unit of the rewards, to about twelve digits.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(sidak_bound(sigma=2.524413, n_agents=1, pairs=8), 3)
    4.502
    """
    where = "sidak_bound"
    sigma = check.positive("sigma", sigma, where)
    n, pairs = _size(n_agents, pairs, where)
    return sigma / math.sqrt(n) * independent_maximum(pairs)[0]


def sampled_maxima(
    actions: Sequence[int],
    *,
    n_states: int,
    sigma: float,
    samples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return samples of the largest error, with the dependence that J makes.

    Parameters
    ----------
    actions : sequence of int
        Numbers of local actions m_i.
    n_states : int
        Number of joint states n, 1 or more.
    sigma : float
        Deviation of the noise on every agent's rewards, positive.
    samples : int
        How many, 1 or more.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    numpy.ndarray, shape (samples,)
        In the unit of the rewards.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sampled_maxima([2, 3], n_states=4, sigma=1.0, samples=5, rng=rng).shape
    (5,)
    """
    where = "sampled_maxima"
    counts = action_counts(actions, where)
    n_states = check.integer("n_states", n_states, where, low=1)
    sigma = check.positive("sigma", sigma, where)
    samples = check.integer("samples", samples, where, low=1)
    size = {"width": max(counts), "n_states": n_states, "samples": samples}
    few_entries(counts, **size, where=where)
    check.instance("rng", rng, where, np.random.Generator)
    # Means over agents, of the largest and of the smallest entry in every state.
    top, bottom = np.zeros((samples, n_states)), np.zeros((samples, n_states))
    for m in counts:
        noise = rng.standard_normal((samples, n_states, m))
        top += noise.max(axis=2)
        bottom += noise.min(axis=2)
    worst = np.maximum(top, -bottom).max(axis=1)
    return np.asarray(sigma / len(counts) * worst)


def epsilon_for_accuracy(
    *, accuracy: float, factor: float, b: float, delta: float
) -> float:
    r"""Return the epsilon at which the bound of Theorem 3 equals `accuracy`.

    Source: Corollary 1, :math:`2 C^2 b^2 / (4 A^2) + C b Q^{-1}(\delta) / A`. With
    another factor (that of a sharper bound) it inverts that bound.

    Parameters
    ----------
    accuracy : float
        A, the expected largest error that is accepted, positive, and not below
        :math:`10^{-60}\, C b`.
    factor : float
        C, the bound in units of sigma, positive.
    b : float
        Adjacency parameter, positive.
    delta : float
        Strictly between 0 and 1/2.

    Returns
    -------
    float
        In nats. A larger epsilon is accurate enough too.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> C = accuracy_factor(n_agents=1, pairs=8)
    >>> round(epsilon_for_accuracy(accuracy=1.0, factor=C, b=1.0, delta=0.01), 3)
    8.429
    """
    where = "epsilon_for_accuracy"
    ratio = check.positive("factor", factor, where) * check.positive("b", b, where)
    ratio /= check.positive("accuracy", accuracy, where)
    if ratio > check.LARGEST:
        must = f"larger: at least factor * b / {check.LARGEST:g}"
        check.fail("accuracy", where, must, accuracy)
    delta = check.unit_interval("delta", delta, where)
    if delta >= 0.5:
        check.fail("delta", where, "strictly between 0 and 1/2", delta)
    return ratio * (0.5 * ratio - float(special.ndtri(delta)))


def value_loss_bound(max_error: ArrayLike, *, discount: float) -> FloatArray:
    r"""Return how much value a policy for wrong rewards can lose at most.

    If rewards are off by at most :math:`\eta`, every policy's value is off by at most
    :math:`\eta / (1 - \gamma)`, so the best policy for the wrong rewards loses at most
    :math:`2 \eta / (1 - \gamma)`. (A bound of this book, not of the paper.)

    Parameters
    ----------
    max_error : array_like
        Largest errors of the joint rewards, non-negative.
    discount : float
        Strictly between 0 and 1.

    Returns
    -------
    numpy.ndarray
        Of the shape of `max_error`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> value_loss_bound([0.0, 0.5], discount=0.75)
    array([0., 4.])
    """
    where = "value_loss_bound"
    errors = real_array("max_error", max_error, where, low=0.0)
    if np.any(errors > check.LARGEST):
        must = f"an array of numbers up to {check.LARGEST:g} (choose other units)"
        check.fail("max_error", where, must, max_error)
    discount = check.unit_interval("discount", discount, where)
    return np.asarray(2.0 * errors / (1.0 - discount))


def _size(n_agents: int, pairs: int, where: str) -> tuple[int, int]:
    n = check.integer("n_agents", n_agents, where, low=1, high=10**6)
    return n, check.integer("pairs", pairs, where, low=1, high=10**150)
