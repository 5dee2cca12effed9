r"""The mechanisms that make a joint reward private, as the noise that they put on it.

Benvenuti et al., Section 3.2 (Algorithm 1, Theorem 1), Section 3.3 (Algorithm 2,
Theorem 2), Figure 1, Table 1.

Model. In every joint state J averages N rows of :math:`m_i` rewards into a row of m
joint ones. A *mechanism* adds to that row Gaussian noise, independent from state to
state, with a covariance of the form

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
output, balanced       see its function    see there     0
=====================  ==================  ============  ===================

Algorithm 2 takes the 1-norm for the 2-norm, hence the square. The last three are not in
the paper. *Tight* (in `MECHANISMS` "exact") is Algorithm 2 with the exact 2-norm.
*Projected* is the tight one after the orthogonal projection on the range of J, where
the true reward lies: free post-processing (for unequal m_i it also gives an agent whose
entries appear less often less noise). Algorithm 1 is *projected* plus one more random
constant per state.

Common random numbers. One `StandardDraw` serves all mechanisms and all sigma: the noise
is a linear image of it, so differences between mechanisms can be estimated in pairs.

Privacy is idealised: real arithmetic, see `dplib.privacy.gaussian`. How private the
joint reward is as a whole is told by `dplib.rewards.central`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.rewards.tables import appearances, averaging_matrix

__all__ = [
    "MECHANISMS",
    "Mechanism",
    "StandardDraw",
    "balanced_output",
    "input_noise",
    "mechanisms",
    "paper_output",
    "projected_output",
    "standard_draw",
    "tight_output",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StandardDraw:
    """Standard normals from which the noise of every mechanism is made.

    Parameters
    ----------
    entries : numpy.ndarray, shape (samples, n, m)
        One number for every joint reward.
    extra : numpy.ndarray, shape (samples, n)
        One number for every state: the constant that only Algorithm 1 adds.
    """

    entries: FloatArray
    extra: FloatArray


def standard_draw(
    n_states: int,
    actions: Sequence[int],
    *,
    samples: int,
    rng: np.random.Generator,
) -> StandardDraw:
    """Return independent standard normals for `samples` private joint rewards.

    Parameters
    ----------
    n_states : int
        Number of joint states n.
    actions : sequence of int
        Numbers of local actions m_i.

    Examples
    --------
    >>> draw = standard_draw(3, [2, 2], samples=5, rng=np.random.default_rng(0))
    >>> draw.entries.shape, draw.extra.shape
    ((5, 3, 4), (5, 3))
    """
    entries = rng.standard_normal((samples, n_states, math.prod(actions)))
    return StandardDraw(entries, rng.standard_normal((samples, n_states)))


@dataclass(frozen=True)
class Mechanism:
    """Noise on the joint reward, by the variances of its covariance.

    Parameters
    ----------
    actions : tuple of int
        Numbers of local actions m_i.
    constant : float
        Variance v_0 along the constant row (unit vector), positive.
    agents : tuple of float
        Variances v_i on the mean-free functions of each agent's action, positive.
    rest : float
        Variance orthogonal to the range of J, zero or greater.
    extra : float
        The part of `constant` that comes from a random constant of its own. It decides
        how mechanisms are paired, not the distribution of the noise.

    Examples
    --------
    >>> input_noise([2, 2], sigma=1.0).agents
    (0.5, 0.5)
    """

    actions: tuple[int, ...]
    constant: float
    agents: tuple[float, ...]
    rest: float = 0.0
    extra: float = 0.0

    def __post_init__(self) -> None:
        where = "Mechanism"
        for count in self.actions:
            check.integer("actions", count, where, low=1)
        for variance in self.agents:
            check.positive("agents", variance, where)
        if not self.agents or len(self.agents) != len(self.actions):
            check.fail("agents", where, "one variance for every agent", self.agents)
        constant = check.positive("constant", self.constant, where)
        check.nonnegative("rest", self.rest, where)
        if check.nonnegative("extra", self.extra, where) > constant:
            must = f"at most 'constant', {constant:g}"
            check.fail("extra", where, must, self.extra)

    @property
    def n_agents(self) -> int:
        """Number of agents, N."""
        return len(self.actions)

    @property
    def n_actions(self) -> int:
        """Number of joint actions, m."""
        return math.prod(self.actions)

    @property
    def variance(self) -> float:
        """Variance of the noise on one joint reward; all have the same.

        Examples
        --------
        >>> input_noise([4, 4], sigma=1.0).variance
        0.5
        """
        own = sum((m - 1) * v for m, v in zip(self.actions, self.agents, strict=True))
        left = self.n_actions - 1 - sum(m - 1 for m in self.actions)
        return (self.constant + own + left * self.rest) / self.n_actions

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on one joint reward."""
        return math.sqrt(self.variance)

    def covariance(self) -> FloatArray:
        """Return the covariance of the noise in one state, in full, for small teams.

        Returns
        -------
        numpy.ndarray, shape (m, m)

        Examples
        --------
        >>> input_noise([2, 1], sigma=2.0).covariance()
        array([[2., 1.],
               [1., 2.]])
        """
        m = self.n_actions
        mean = np.full((m, m), 1.0 / m)
        # Indicators of each agent's actions: orthogonal columns of mu_i ones.
        columns = averaging_matrix(self.actions) * self.n_agents
        blocks = np.split(columns, np.cumsum(self.actions)[:-1], axis=1)
        result = self.rest * np.eye(m) + (self.constant - self.rest) * mean
        for block, count, variance in zip(
            blocks, self.actions, self.agents, strict=True
        ):
            own = block @ block.T * (count / m) - mean
            result = result + (variance - self.rest) * own
        return np.asarray(result)

    def scaled(self, factor: float) -> Mechanism:
        """Return the mechanism that adds `factor` times the noise.

        Examples
        --------
        >>> input_noise([2, 2], sigma=1.0).scaled(2.0) == input_noise([2, 2], sigma=2.0)
        True
        """
        square = factor**2
        return replace(
            self,
            constant=square * self.constant,
            agents=tuple(square * one for one in self.agents),
            rest=square * self.rest,
            extra=square * self.extra,
        )

    def noise(self, draw: StandardDraw) -> FloatArray:
        """Return the noise that belongs to `draw`.

        The noise of ``scaled(c)`` is c times this one. With one draw, Algorithm 1's
        noise is the projected output noise plus the extra constant per state.

        Returns
        -------
        numpy.ndarray, shape (samples, n, m)

        Examples
        --------
        >>> draw = standard_draw(1, [2, 2], samples=1, rng=np.random.default_rng(0))
        >>> gap = (input_noise([2, 2], sigma=3.0).noise(draw)
        ...        - projected_output([2, 2], sigma=3.0).noise(draw))
        >>> print(np.allclose(gap, np.sqrt(9 / 8) * draw.extra[0, 0]))
        True
        """
        # A row z of the draw is split into (11^T/m) z, the P_i z and P_perp z; each is
        # scaled by the root of its variance.
        rows = draw.entries.reshape(-1, self.n_actions)
        grid = rows.reshape(-1, *self.actions)  # an axis for every agent's action
        mean = rows.mean(axis=1)  # (11^T/m) z, the same in all entries
        constant = math.sqrt(self.constant - self.extra) * mean
        constant = constant + math.sqrt(self.extra / rows.shape[1]) * draw.extra.ravel()
        one_per_row = (-1, *(1,) * self.n_agents)
        mean = mean.reshape(one_per_row)
        noise, rest = constant.reshape(one_per_row), grid - mean
        for agent, variance in enumerate(self.agents, start=1):
            others = tuple(k for k in range(1, grid.ndim) if k != agent)
            own = grid.mean(axis=others, keepdims=True) - mean  # P_i z
            noise = noise + math.sqrt(variance) * own
            rest = rest - own  # after the last agent P_perp z
        if self.rest > 0.0:
            noise = noise + math.sqrt(self.rest) * rest
        return np.asarray(noise.reshape(draw.entries.shape))


def input_noise(actions: Sequence[int], *, sigma: float) -> Mechanism:
    """Return Algorithm 1: every agent adds N(0, sigma^2) to its own table.

    Parameters
    ----------
    actions : sequence of int
        Numbers of local actions m_i.
    sigma : float
        Deviation that protects one entry of one table by itself: for instance
        ``gaussian.kappa_sigma(sensitivity=b, ...)``.

    References
    ----------
    Benvenuti et al., Algorithm 1 and Theorem 1.

    Examples
    --------
    >>> own = input_noise([4, 4], sigma=1.0)
    >>> own.constant, own.agents, own.rest
    (2.0, (1.0, 1.0), 0.0)
    """
    mu, unit = _appearances_and_unit(actions, sigma)
    return Mechanism(
        tuple(actions),
        constant=unit * sum(mu),
        agents=tuple(unit * one for one in mu),
        extra=unit * (sum(mu) - max(mu)),
    )


def paper_output(actions: Sequence[int], *, sigma: float) -> Mechanism:
    """Return Algorithm 2 as printed: deviation sigma mu / N in every joint entry.

    Arguments as in `input_noise`.

    References
    ----------
    Benvenuti et al., Algorithm 2 and Theorem 2.

    Examples
    --------
    >>> paper_output([4, 4], sigma=1.0).deviation
    2.0
    """
    mu, unit = _appearances_and_unit(actions, sigma)
    return _isotropic(actions, unit * max(mu) ** 2)


def tight_output(actions: Sequence[int], *, sigma: float) -> Mechanism:
    """Return Algorithm 2 with the exact sensitivity: deviation sigma sqrt(mu) / N.

    Beyond the paper, which takes the 1-norm. ("exact" in `MECHANISMS`.)

    Arguments as in `input_noise`.

    Examples
    --------
    >>> tight_output([4, 4], sigma=1.0).deviation
    1.0
    """
    mu, unit = _appearances_and_unit(actions, sigma)
    return _isotropic(actions, unit * max(mu))


def projected_output(actions: Sequence[int], *, sigma: float) -> Mechanism:
    """Return tight output noise, kept only within the range of J.

    Beyond the paper. For equal m_i it is `tight_output` after an orthogonal
    projection. For unequal ones an agent whose entries appear less often also gets
    less noise.

    Arguments as in `input_noise`.

    Examples
    --------
    >>> projected_output([4, 4], sigma=1.0).variance
    0.4375
    """
    mu, unit = _appearances_and_unit(actions, sigma)
    agents = tuple(unit * one for one in mu)
    return Mechanism(tuple(actions), constant=unit * max(mu), agents=agents)


def balanced_output(actions: Sequence[int], *, sigma: float) -> Mechanism:
    r"""Return the noise of least variance that shows no entry by more than b / sigma.

    The sensitivity b is the largest change of one entry of one agent's table; the noise
    shows it as a shift of at most b / sigma deviations. Beyond the paper: no Gaussian
    noise on the joint reward, of whatever covariance, protects one entry equally well
    and has less variance.

    Arguments as in `input_noise`.

    Notes
    -----
    For equal m_j the optimum is :math:`v_0 = \mu (\sqrt N (m_j - 1) + 1) / m_j` and
    :math:`v_j = v_0 / \sqrt N`, in units of :math:`\sigma^2/N^2`: between projected
    output (ratio 1) and Algorithm 1 (ratio N).

    *Form.* In one state let :math:`c_k` be the change of the joint reward that a change
    by 1 in entry k of some table makes (the columns of `averaging_matrix`). Noise of
    covariance :math:`\Sigma` shows it as a shift of
    :math:`(c_k^T \Sigma^{-1} c_k)^{1/2}` deviations. Averaging :math:`\Sigma` over
    relabelings of actions keeps trace and privacy, so an optimal one has the form of
    `Mechanism`, with rest 0. For :math:`\sigma = N = 1` it minimises
    :math:`v_0 + \sum_j (m_j - 1) v_j` subject to
    :math:`\mu_j [(1 - 1/m_j)/v_j + (1/m_j)/v_0] \le 1`. The least :math:`v_j` is

    .. math:: v_j = \frac{\mu_j (1 - 1/m_j)}{1 - s_j / v_0},
        \qquad s_j = \mu_j / m_j < v_0 ,

    which leaves one convex function of :math:`v_0`. (An agent with one action has no
    directions: it asks :math:`v_0 \ge \mu_j`, and its :math:`v_j`, of no effect, is
    set to :math:`\mu_j`.)

    *Certificate.* Take weights :math:`w_k \ge 0` of sum 1, and
    :math:`C = \sum_k w_k c_k c_k^T`. Every admissible :math:`\Sigma` has
    :math:`\mathrm{tr}(\Sigma^{-1} C) \le 1`, hence by Cauchy and Schwarz
    :math:`\mathrm{tr}\, \Sigma \ge (\mathrm{tr}\, C^{1/2})^2`. For weights
    :math:`w_k` in proportion to :math:`v_j^2 / \mu_j`, k in the table of agent j,
    :math:`C^{1/2}` is in proportion to :math:`\Sigma`, and the two are equal.

    Examples
    --------
    >>> best = balanced_output([4, 4, 4, 4], sigma=1.0)
    >>> round(best.constant, 9), round(best.agents[0], 9)
    (7.0, 3.5)
    """
    mu, unit = _appearances_and_unit(actions, sigma)
    v0 = _best_constant(actions)
    agents = [
        one * (1 - 1 / count) / (1 - one / (count * v0)) if count > 1 else one
        for one, count in zip(mu, actions, strict=True)
    ]
    return Mechanism(
        tuple(actions),
        constant=unit * v0,
        agents=tuple(unit * one for one in agents),
    )


MECHANISMS: dict[str, Callable[..., Mechanism]] = {
    "printed": paper_output,
    "exact": tight_output,
    "projected": projected_output,
    "input": input_noise,
    "balanced": balanced_output,
}
"""Output noise as printed, with the exact norm, projected; input noise; balanced."""


def mechanisms(actions: Sequence[int], *, sigma: float) -> dict[str, Mechanism]:
    """Return all mechanisms at one nominal privacy, by the names in `MECHANISMS`.

    *Nominal* is the privacy of one reward by itself. Arguments as in `input_noise`.
    "exact" is `tight_output`.

    Examples
    --------
    >>> {name: one.deviation for name, one in mechanisms([9], sigma=2.0).items()}
    {'printed': 2.0, 'exact': 2.0, 'projected': 2.0, 'input': 2.0, 'balanced': 2.0}
    """
    return {name: make(actions, sigma=sigma) for name, make in MECHANISMS.items()}


def _appearances_and_unit(
    actions: Sequence[int], sigma: float
) -> tuple[tuple[int, ...], float]:
    """Return the mu_i of all agents, and sigma^2 / N^2; refuse what is not possible."""
    where = "a mechanism"
    for count in actions:
        check.integer("actions", count, where, low=1)
    if not len(actions):
        check.fail("actions", where, "one integer or more", actions)
    deviation = check.positive("sigma", sigma, where)
    return appearances(actions), (deviation / len(actions)) ** 2


def _isotropic(actions: Sequence[int], variance: float) -> Mechanism:
    same = (variance,) * len(actions)
    return Mechanism(tuple(actions), constant=variance, agents=same, rest=variance)


def _best_constant(actions: Sequence[int]) -> float:
    r"""Return v_0 of `balanced_output`, for sigma = N = 1.

    With the closed form of :math:`v_j` the variance is, up to a factor,

    .. math:: h(v_0) = v_0 + \sum_j (m_j - 1)^2 \frac{s_j}{1 - s_j / v_0}, \qquad
        h'(v_0) = 1 - \sum_j \left(\frac{(m_j - 1) s_j}{v_0 - s_j}\right)^2 ,

    and h' increases from minus infinity at :math:`\max_j s_j`. At
    :math:`v_0 = \sum_j m_j s_j + \max_j s_j` every denominator is
    :math:`\sum_j m_j s_j` or more, so that the fractions sum to less than 1, and so do
    their squares: the root lies below.
    """
    pairs = list(zip(appearances(actions), actions, strict=True))
    # An agent with one action moves the constant only: v_0 >= mu_j, no more choice.
    floor = max((u for u, m in pairs if m == 1), default=0)
    shares = [(u / m, m) for u, m in pairs if m > 1]  # s_j and m_j
    if not shares:
        return float(floor)

    def slope(v0: float) -> float:
        return 1.0 - sum(((m - 1) * s / (v0 - s)) ** 2 for s, m in shares)

    largest = max(s for s, _ in shares)
    # Just above the pole, yet v_0 - s_j is not lost to rounding; slope below -1e23.
    low = largest * (1.0 + 1e-12)
    high = sum(m * s for s, m in shares) + largest
    # Until no float lies between: 53 halvings, and log2(high / low) before them.
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
    return max(high, float(floor))
