r"""How wrong private rewards are: the largest error over all of them.

Benvenuti et al., Section 4: Theorem 3, Equation 4, Corollary 1, Figure 2; Appendices B
and C.

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
  Gaussian y, :math:`P(\max |y_l| \le t) \ge \prod_l P(|y_l| \le t)`. It is
  :math:`\sigma / \sqrt N` times `independent_maximum`, and for one agent exact.
"""

from __future__ import annotations

import math

from scipy import integrate, special

from dplib import check

__all__ = [
    "accuracy_factor",
    "epsilon_for_accuracy",
    "independent_maximum",
    "log_bound",
]


def accuracy_factor(*, n_agents: int, pairs: int) -> float:
    """Return C of Equation 4, the bound of Theorem 3 in units of sigma.

    Parameters
    ----------
    n_agents : int
        N.
    pairs : int
        K = nm, the number of joint state-action pairs.

    Examples
    --------
    >>> round(accuracy_factor(n_agents=1, pairs=8), 4)
    2.3928
    """
    spread = (1.0 - 2.0 / math.pi) * (pairs - 1) / n_agents
    return math.sqrt(2.0 / (n_agents * math.pi)) + math.sqrt(spread)


def log_bound(*, sigma: float, n_agents: int, pairs: int) -> float:
    r"""Return :math:`\sigma \sqrt{2 \log(2K) / N}`, which grows with log K only.

    Examples
    --------
    >>> round(log_bound(sigma=1.0, n_agents=2, pairs=6400), 4)
    3.0753
    """
    return sigma * math.sqrt(2.0 * math.log(2.0 * pairs) / n_agents)


def independent_maximum(count: int) -> tuple[float, float]:
    r"""Return E max of `count` independent :math:`|N(0, 1)|`, and an error bound.

    Parameters
    ----------
    count : int
        From 1 to about 10^12.

    Returns
    -------
    value : float
        :math:`\int_0^\infty 1 - \mathrm{erf}(x/\sqrt2)^{count}\, dx`.
    bound : float
        On its absolute error: what the quadrature estimates, and the tail left out.

    Examples
    --------
    >>> value, bound = independent_maximum(1)
    >>> abs(value - math.sqrt(2 / math.pi)) <= bound < 1e-9
    True
    """

    def above(x: float) -> float:
        # P(some |y| > x), from the log of P(one |y| <= x).
        outside = 2.0 * float(special.ndtr(-x))
        if outside >= 1.0:
            return 1.0
        return -math.expm1(count * math.log1p(-outside))

    edge = math.sqrt(2.0 * math.log(2.0 * count))  # most of the probability is below
    value, bound = 0.0, 0.0
    for low, high in ((0.0, 0.5 * edge), (0.5 * edge, edge), (edge, edge + 12.0)):
        part, error = integrate.quad(above, low, high, epsabs=1e-13, epsrel=1e-13)
        value += part
        bound += error
    # Beyond: at most count times the tail integral, below exp(-72) / 6.
    return value, bound + 1e-15 * (1.0 + value)


def epsilon_for_accuracy(
    *, accuracy: float, factor: float, b: float, delta: float
) -> float:
    r"""Return the epsilon at which the bound of Theorem 3 equals `accuracy`.

    Source: Corollary 1, :math:`2 C^2 b^2 / (4 A^2) + C b Q^{-1}(\delta) / A`. With
    another factor (that of a sharper bound) it inverts that bound.

    Parameters
    ----------
    accuracy : float
        A, the expected largest error that is accepted, positive.
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

    Examples
    --------
    >>> C = accuracy_factor(n_agents=1, pairs=8)
    >>> round(epsilon_for_accuracy(accuracy=1.0, factor=C, b=1.0, delta=0.01), 3)
    8.429
    """
    where = "epsilon_for_accuracy"
    ratio = check.positive("factor", factor, where) * check.positive("b", b, where)
    ratio /= check.positive("accuracy", accuracy, where)
    if not 0.0 < check.probability("delta", delta, where) < 0.5:
        check.fail("delta", where, "strictly between 0 and 1/2", delta)
    return ratio * (0.5 * ratio - float(special.ndtri(delta)))
