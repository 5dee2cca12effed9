r"""The noise of least variance at given central privacy, and the proof that it is.

Beyond Benvenuti et al.: of all Gaussian noises on the joint reward that protect one
entry of one agent's table equally well, which has the least variance?

Model. In one state let :math:`c_k` be the change of the joint reward that a change by 1
in entry k of some table makes (the columns of `averaging_matrix`). Noise of covariance
:math:`\Sigma` shows it as a shift of :math:`(c_k^T \Sigma^{-1} c_k)^{1/2}` deviations.
Wanted is the least trace of :math:`\Sigma` for which no shift exceeds one.

*Form.* Averaging :math:`\Sigma` over relabelings of actions keeps trace and privacy, so
an optimal one has the form of `dplib.rewards.noise_law`, with rest 0. For
:math:`\sigma = N = 1` it minimises :math:`v_0 + \sum_j (m_j - 1) v_j` subject to
:math:`\mu_j [(1 - 1/m_j)/v_j + (1/m_j)/v_0] \le 1`; solving for :math:`v_j` leaves one
convex function of :math:`v_0`.

*Certificate.* Take weights :math:`w_k \ge 0` of sum 1, and
:math:`C = \sum_k w_k c_k c_k^T`. Every admissible :math:`\Sigma` has
:math:`\mathrm{tr}(\Sigma^{-1} C) \le 1`, hence by Cauchy and Schwarz
:math:`\mathrm{tr}\, \Sigma \ge (\mathrm{tr}\, C^{1/2})^2`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dplib import check
from dplib.rewards.noise_law import NoiseLaw
from dplib.rewards.tables import action_counts, appearances

__all__ = ["balanced_output", "variance_floor"]


def balanced_output(actions: Sequence[int], *, sigma: float) -> NoiseLaw:
    r"""Return the noise of least variance that shows no entry by more than b / sigma.

    Parameters
    ----------
    actions : sequence of int
        Numbers of local actions m_i.
    sigma : float
        Deviation that protects one entry of one table by itself, positive: for
        instance ``gaussian.kappa_sigma(sensitivity=b, ...)``.

    Returns
    -------
    NoiseLaw

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Notes
    -----
    For equal m_j the optimum is :math:`v_0 = \mu (\sqrt N (m_j - 1) + 1) / m_j` and
    :math:`v_j = v_0 / \sqrt N`, in units of :math:`\sigma^2/N^2`: between projected
    output (ratio 1) and Algorithm 1 (ratio N).

    Examples
    --------
    >>> law = balanced_output([4, 4, 4, 4], sigma=1.0)
    >>> round(law.constant, 9), round(law.agents[0], 9)
    (7.0, 3.5)
    """
    counts = action_counts(actions, "balanced_output")
    unit = (check.positive("sigma", sigma, "balanced_output") / len(counts)) ** 2
    mu = appearances(counts)
    v0 = _best_constant(counts, mu)
    agents = [
        one * (1 - 1 / count) / (1 - one / (count * v0)) if count > 1 else one
        for one, count in zip(mu, counts, strict=True)
    ]
    return NoiseLaw(
        "output, balanced",
        counts,
        constant=unit * v0,
        agents=tuple(unit * one for one in agents),
    )


def variance_floor(actions: Sequence[int], *, sigma: float) -> float:
    """Return a lower bound on the variance of any Gaussian noise so private.

    On the mean over joint actions of the variance of one joint reward, for noise of
    any covariance that shows no entry by more than b / sigma deviations.

    Arguments as in `balanced_output`, whose variance it equals to rounding.

    Notes
    -----
    The bound holds for any weights; those used are the ones for which the square
    root of C is proportional to the covariance of `balanced_output`.

    Examples
    --------
    >>> round(variance_floor([4, 4, 4, 4], sigma=1.0), 9)
    0.19140625
    """
    law = balanced_output(actions, sigma=sigma)
    counts, mu = law.actions, appearances(law.actions)
    pull = [v * v if m > 1 else 0.0 for v, m in zip(law.agents, counts, strict=True)]
    if min(counts) == 1:
        # An agent without a choice moves the constant only; it takes what is left.
        idle = counts.index(1)
        pull[idle] = max(0.0, law.constant**2 - sum(pull))
    total = sum(m * one / u for m, one, u in zip(counts, pull, mu, strict=True))
    # With w_j = pull_j / (mu_j total), C has pull_j / total on P_j, their sum on 1.
    root = sum((m - 1) * math.sqrt(one) for m, one in zip(counts, pull, strict=True))
    root += math.sqrt(sum(pull))
    unit = (float(sigma) / law.n_agents) ** 2
    return unit * root * root / total / law.n_actions


def _best_constant(counts: tuple[int, ...], mu: tuple[int, ...]) -> float:
    """Return v_0 of `balanced_output`, for sigma = N = 1."""
    # An agent with one action moves the constant only: v_0 >= mu_j, no more choice.
    floor = max((u for u, m in zip(mu, counts, strict=True) if m == 1), default=0.0)
    shares = [(u / m, m) for u, m in zip(mu, counts, strict=True) if m > 1]
    if not shares:
        return float(floor)

    def slope(v0: float) -> float:
        # d/dv0 of v0 + sum_j (m_j - 1)^2 s_j / (1 - s_j / v0), with s_j = mu_j / m_j.
        return 1.0 - sum(((m - 1) * s / (v0 - s)) ** 2 for s, m in shares)

    largest = max(s for s, _ in shares)
    low = largest * (1.0 + 1e-12)
    high = sum(m * s for s, m in shares) + largest
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
    return max(high, float(floor))
