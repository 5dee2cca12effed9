r"""The laws of the noise that private mechanisms put on the joint reward.

Benvenuti et al., Sections 3.2 and 3.3, Algorithms 1 and 2, Appendix A.

Model. In every joint state J averages N rows of :math:`m_i` rewards into a row of m
joint ones. All mechanisms here add to that row Gaussian noise with a covariance of
one form, independently from state to state:

.. math:: v_0 \, \frac{11^T}{m} + \sum_i v_i P_i + v_\perp P_\perp .

:math:`P_i` projects on functions of agent i's action alone with mean zero (dimension
:math:`m_i - 1`), :math:`11^T/m` on constants; together they span the range of J.
:math:`P_\perp` projects on the rest. With sigma the deviation that *one* agent needs
for *one* entry of its own table, :math:`\mu_i = \prod_{l \ne i} m_l` and
:math:`\mu = \max_i \mu_i`, in units of :math:`\sigma^2 / N^2`:

=====================  ==================  ============  ===================
mechanism              constant            agent i       rest
=====================  ==================  ============  ===================
input (Algorithm 1)    sum of mu_i         mu_i          0
output (Algorithm 2)   mu^2                mu^2          mu^2
output, tight          mu                  mu            mu
output, projected      mu                  mu_i          0
=====================  ==================  ============  ===================

Algorithm 2 takes the 1-norm for the 2-norm, hence the square. *Projected* is the tight
one after the orthogonal projection on the range of J, where the true reward lies: free
post-processing (for unequal m_i it also gives an agent whose entries appear less often
less noise). Algorithm 1 is *projected* plus one more random constant per state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.rewards.tables import (
    action_counts,
    appearances,
    averaging_matrix,
    few_actions,
)

__all__ = [
    "NoiseLaw",
    "covariance_matrix",
    "entry_variance",
    "input_noise",
    "paper_output",
    "projected_output",
    "tight_output",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class NoiseLaw:
    """Covariance of the noise on the joint reward in one state, in eigen-variances.

    Variances are squares: between 1e-125 and 1e125, or 0 where that is allowed.

    Parameters
    ----------
    name : str
        For tables and legends.
    actions : sequence of int
        Numbers of local actions m_i.
    constant : float
        Variance v_0 along the constant row (unit vector), positive.
    agents : sequence of float
        Variances v_i on the mean-free functions of each agent's action, positive.
    rest : float
        Variance orthogonal to the range of J, zero or greater.
    extra : float
        The part of `constant` that comes from a random constant of its own; between
        0 and `constant`. It decides how mechanisms are paired, not their law.

    Raises
    ------
    TypeError, ValueError
        If a field is not as above.

    Examples
    --------
    >>> input_noise([2, 2], sigma=1.0).agents
    (0.5, 0.5)
    """

    name: str
    actions: tuple[int, ...]
    constant: float
    agents: tuple[float, ...]
    rest: float = 0.0
    extra: float = 0.0

    def __post_init__(self) -> None:
        where = "NoiseLaw"
        check.instance("name", self.name, where, str)
        actions = action_counts(self.actions, where)
        constant = _variance("constant", self.constant, where)
        if not isinstance(self.agents, Sequence) or len(self.agents) != len(actions):
            check.fail("agents", where, "one variance for every agent", self.agents)
        agents = tuple(_variance("agents", one, where) for one in self.agents)
        rest = _variance("rest", self.rest, where, zero=True)
        extra = _variance("extra", self.extra, where, zero=True)
        if extra > constant:
            check.fail("extra", where, f"at most 'constant', {constant:g}", extra)
        values = {
            "actions": actions,
            "constant": constant,
            "agents": agents,
            "rest": rest,
            "extra": extra,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)  # the way into a frozen class

    @property
    def n_agents(self) -> int:
        """Number of agents, N."""
        return len(self.actions)

    @property
    def n_actions(self) -> int:
        """Number of joint actions, m."""
        return math.prod(self.actions)

    def scaled(self, factor: float) -> NoiseLaw:
        """Return the law of `factor` times the noise, factor positive.

        Examples
        --------
        >>> input_noise([2, 2], sigma=1.0).scaled(2.0) == input_noise([2, 2], sigma=2.0)
        True
        """
        square = check.positive("factor", factor, "NoiseLaw.scaled") ** 2
        return replace(
            self,
            constant=square * self.constant,
            agents=tuple(square * one for one in self.agents),
            rest=square * self.rest,
            extra=square * self.extra,
        )


def input_noise(actions: Sequence[int], *, sigma: float) -> NoiseLaw:
    """Return what Algorithm 1 does to the joint reward.

    Every agent adds N(0, sigma^2) to its own table; J averages.

    Parameters
    ----------
    actions : sequence of int
        Numbers of local actions m_i.
    sigma : float
        Deviation of every agent's noise, positive: that of the identity query, for
        instance ``gaussian.kappa_sigma(sensitivity=b, ...)``.

    Returns
    -------
    NoiseLaw

    References
    ----------
    Benvenuti et al., Algorithm 1 and Theorem 1.

    Examples
    --------
    >>> law = input_noise([4, 4], sigma=1.0)
    >>> law.constant, law.agents, law.rest, entry_variance(law)
    (2.0, (1.0, 1.0), 0.0, 0.5)
    """
    counts, mu, unit = _units(actions, sigma, "input_noise")
    return NoiseLaw(
        "input",
        counts,
        constant=unit * sum(mu),
        agents=tuple(unit * one for one in mu),
        extra=unit * (sum(mu) - max(mu)),
    )


def paper_output(actions: Sequence[int], *, sigma: float) -> NoiseLaw:
    """Return Algorithm 2 as printed: deviation sigma mu / N in every joint entry.

    Arguments as in `input_noise`.

    References
    ----------
    Benvenuti et al., Algorithm 2 and Theorem 2.

    Examples
    --------
    >>> paper_output([4, 4], sigma=1.0).rest
    4.0
    """
    counts, mu, unit = _units(actions, sigma, "paper_output")
    return _isotropic("output as printed", counts, unit * max(mu) ** 2)


def tight_output(actions: Sequence[int], *, sigma: float) -> NoiseLaw:
    """Return output perturbation with the exact sensitivity, sigma sqrt(mu) / N.

    Arguments as in `input_noise`.

    Examples
    --------
    >>> tight_output([4, 4], sigma=1.0).rest
    1.0
    """
    counts, mu, unit = _units(actions, sigma, "tight_output")
    return _isotropic("output, tight", counts, unit * max(mu))


def projected_output(actions: Sequence[int], *, sigma: float) -> NoiseLaw:
    """Return tight output noise, kept only within the range of J.

    For equal m_i it is `tight_output` after an orthogonal projection. For unequal
    ones an agent whose entries appear less often also gets less noise.

    Arguments as in `input_noise`.

    Examples
    --------
    >>> law = projected_output([4, 4], sigma=1.0)
    >>> law.constant, law.agents, law.rest, entry_variance(law)
    (1.0, (1.0, 1.0), 0.0, 0.4375)
    """
    counts, mu, unit = _units(actions, sigma, "projected_output")
    return NoiseLaw(
        "output, projected",
        counts,
        constant=unit * max(mu),
        agents=tuple(unit * one for one in mu),
    )


def entry_variance(law: NoiseLaw) -> float:
    """Return the variance of the noise on one joint reward; all entries have the same.

    Examples
    --------
    >>> entry_variance(tight_output([4, 4], sigma=1.0))
    1.0
    """
    check.instance("law", law, "entry_variance", NoiseLaw)
    own = sum((m - 1) * v for m, v in zip(law.actions, law.agents, strict=True))
    left = law.n_actions - 1 - sum(m - 1 for m in law.actions)
    return (law.constant + own + left * law.rest) / law.n_actions


def covariance_matrix(law: NoiseLaw) -> FloatArray:
    """Return the covariance of the noise in one state, in full, for small teams.

    Parameters
    ----------
    law : NoiseLaw
        Of a team of at most 60 agents and 5477 joint actions.

    Returns
    -------
    numpy.ndarray, shape (m, m)

    Raises
    ------
    TypeError, ValueError
        If the argument is not as above.

    Examples
    --------
    >>> covariance_matrix(input_noise([2, 1], sigma=2.0))
    array([[2., 1.],
           [1., 2.]])
    """
    check.instance("law", law, "covariance_matrix", NoiseLaw)
    m = law.n_actions
    few_actions(law.actions, "covariance_matrix", columns=m, name="law")
    mean = np.full((m, m), 1.0 / m)
    columns = averaging_matrix(law.actions) * law.n_agents
    result = law.rest * np.eye(m) + (law.constant - law.rest) * mean
    start = 0
    for count, variance in zip(law.actions, law.agents, strict=True):
        # Indicators of agent i's actions: orthogonal columns of mu_i ones each.
        block = columns[:, start : start + count]
        own = block @ block.T * (count / m) - mean
        result = result + (variance - law.rest) * own
        start += count
    return np.asarray(result)


def _units(
    actions: Sequence[int], sigma: float, where: str
) -> tuple[tuple[int, ...], tuple[int, ...], float]:
    counts = action_counts(actions, where)
    unit = (check.positive("sigma", sigma, where) / len(counts)) ** 2
    return counts, appearances(counts), unit


def _isotropic(name: str, counts: tuple[int, ...], variance: float) -> NoiseLaw:
    same = (variance,) * len(counts)
    return NoiseLaw(name, counts, constant=variance, agents=same, rest=variance)


def _variance(name: str, value: object, where: str, *, zero: bool = False) -> float:
    """Return a variance of a size whose products with others are floats."""
    number = check.nonnegative(name, value, where)
    if not (1e-125 <= number <= 1e125 or (zero and number == 0.0)):
        must = "between 1e-125 and 1e125 (choose other units)"
        check.fail(name, where, must, value)
    return number
