r"""How private a noisy joint reward really is, to somebody who sees only that.

Benvenuti et al., Sections 3.2 and 3.3, Remarks 4 and 5, Appendix A.

Model. What an onlooker can learn goes through the private joint reward (the policy is
made from it). A change d of the true joint reward in one state, under noise with the
covariance of `dplib.rewards.noise_law`, is seen as a Gaussian shift of

.. math:: u^2 = \frac{\|\bar d\|^2}{v_0} + \sum_i \frac{\|P_i d\|^2}{v_i}

standard deviations, and its exact (epsilon, delta) curve is that of
`dplib.privacy.gaussian` at this u (for Gaussian shifts the worst event is a half
space). A change by b in one entry of agent j's table has

.. math:: u_j^2 = \frac{b^2 \mu_j}{N^2}
    \left[\frac{1 - 1/m_j}{v_j} + \frac{1/m_j}{v_0}\right] .

Noise outside the range of J does not appear: projecting it away costs no privacy.

Whose privacy. *entry*: one entry of one agent's table (Definition 3, Remark 5).
*team*: one entry of every agent's at once (Remark 4 read jointly), at worst all in one
state and of one sign.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.privacy import gaussian
from dplib.privacy._numeric import Floats
from dplib.rewards.noise_law import NoiseLaw, covariance_matrix
from dplib.rewards.tables import appearances

__all__ = [
    "CHANGES",
    "central_delta",
    "central_epsilon",
    "central_log_delta",
    "central_shift",
    "matched",
    "shift_of_change",
]

CHANGES = ("entry", "team")


def central_shift(law: NoiseLaw, *, bound: float, change: str = "entry") -> float:
    """Return the largest shift u that an adjacent change causes, in deviations.

    Parameters
    ----------
    law : NoiseLaw
        Noise on the joint reward.
    bound : float
        Adjacency parameter b, positive, in the unit of the rewards.
    change : {"entry", "team"}
        What may differ, by up to `bound`: one entry of one agent's table, or one
        entry of every agent's.

    Returns
    -------
    float
        The ratio of sensitivity to deviation that the Gaussian curve asks for.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    Algorithm 1 with 2 agents of 4 actions at sigma = 1: an entry is a little better
    protected in the joint reward than in the agent's own table, where u = 1.

    >>> from dplib.rewards.noise_law import input_noise
    >>> central_shift(input_noise([4, 4], sigma=1.0), bound=1.0) ** 2
    0.875
    """
    return _shift(law, bound, change, "central_shift")


def shift_of_change(law: NoiseLaw, change: ArrayLike) -> float:
    """Return the shift u of any change of the joint reward in one state.

    By solving with the covariance itself, in full: the check of the closed forms.

    Parameters
    ----------
    law : NoiseLaw
        Noise on the joint reward.
    change : array_like, shape (m,)
        Difference of the true joint rewards, in the range of J.

    Returns
    -------
    float
        Mahalanobis length of the change.

    Examples
    --------
    >>> from dplib.rewards.noise_law import input_noise
    >>> law = input_noise([2, 2], sigma=1.0)
    >>> round(shift_of_change(law, [0.5, 0.5, 0.0, 0.0]) ** 2, 12)
    0.75
    """
    check.instance("law", law, "shift_of_change", NoiseLaw)
    m = law.n_actions
    change = check.array("change", change, "shift_of_change", shape=(m,))
    covariance = covariance_matrix(law)
    solution = np.linalg.lstsq(covariance, change, rcond=1e-12)[0]
    size = float(np.abs(change).max())
    if np.abs(covariance @ solution - change).max() > 1e-9 * size:
        must = "in the range of J (a change outside it is seen without any noise)"
        check.fail("change", "shift_of_change", must, change.tolist())
    return math.sqrt(float(change @ solution))


def central_delta(
    law: NoiseLaw, *, bound: float, epsilon: ArrayLike, change: str = "entry"
) -> Floats:
    """Return the exact delta(epsilon) of a private joint reward.

    Parameters
    ----------
    law : NoiseLaw
        Noise on the joint reward.
    bound : float
        Adjacency parameter b, positive.
    epsilon : array_like
        Zero or greater, any shape.
    change : {"entry", "team"}
        The adjacency, as in `central_shift`.

    Returns
    -------
    numpy.ndarray or float

    Examples
    --------
    >>> from dplib.rewards.noise_law import paper_output
    >>> law = paper_output([4] * 5, sigma=2.52441)
    >>> print(central_delta(law, bound=1.0, epsilon=0.0).round(5))
    0.00988
    """
    shift = _shift(law, bound, change, "central_delta")
    return gaussian.gaussian_delta(sensitivity=shift, sigma=1.0, epsilon=epsilon)


def central_log_delta(
    law: NoiseLaw, *, bound: float, epsilon: ArrayLike, change: str = "entry"
) -> Floats:
    """Return log of `central_delta`, finite also where that underflows.

    Examples
    --------
    >>> from dplib.rewards.noise_law import paper_output
    >>> law = paper_output([4] * 5, sigma=2.52441)
    >>> print(central_log_delta(law, bound=1.0, epsilon=5.0) < -20000)
    True
    """
    shift = _shift(law, bound, change, "central_log_delta")
    return gaussian.gaussian_log_delta(sensitivity=shift, sigma=1.0, epsilon=epsilon)


def central_epsilon(
    law: NoiseLaw, *, bound: float, delta: float, change: str = "entry"
) -> float:
    """Return the least epsilon at which a private joint reward has `delta`.

    Arguments as in `central_delta`, `delta` as in `gaussian.gaussian_epsilon`.

    Examples
    --------
    Algorithm 2 with 2 agents of 4 actions, calibrated for epsilon = 1, delta = 0.01:

    >>> from dplib.rewards.noise_law import paper_output
    >>> law = paper_output([4, 4], sigma=2.52441)
    >>> round(central_epsilon(law, bound=1.0, delta=0.01), 3)
    0.26
    """
    shift = _shift(law, bound, change, "central_epsilon")
    return gaussian.gaussian_epsilon(sensitivity=shift, sigma=1.0, delta=delta)


def matched(
    law: NoiseLaw,
    *,
    bound: float,
    epsilon: float,
    delta: float,
    change: str = "entry",
) -> NoiseLaw:
    """Return the law scaled so that its true central privacy is (epsilon, delta).

    Laws that are matched at one (epsilon, delta) have one privacy curve: they are
    equally private at every other pair, too.

    Parameters
    ----------
    law : NoiseLaw
        Any deviation will do: only its shape matters.
    bound, change
        As in `central_shift`.
    epsilon, delta : float
        As in `gaussian.analytic_sigma`.

    Returns
    -------
    NoiseLaw

    Examples
    --------
    >>> from dplib.rewards.noise_law import tight_output
    >>> law = matched(tight_output([4, 4], sigma=9.0), bound=1.0, epsilon=1.0,
    ...               delta=0.01)
    >>> round(central_epsilon(law, bound=1.0, delta=0.01), 9)
    1.0
    """
    shift = _shift(law, bound, change, "matched")
    needed = gaussian.analytic_sigma(sensitivity=shift, epsilon=epsilon, delta=delta)
    return law.scaled(needed)


def _shift(law: NoiseLaw, bound: float, change: str, where: str) -> float:
    check.instance("law", law, where, NoiseLaw)
    check.positive("bound", bound, where)
    check.member("change", change, where, CHANGES)
    mu = appearances(law.actions)
    scale = float(bound) / law.n_agents
    own = [
        one * (1.0 - 1.0 / m) / v
        for one, m, v in zip(mu, law.actions, law.agents, strict=True)
    ]
    if change == "team":
        # The constants add up before they are squared: at worst, one state, one sign.
        return scale * math.sqrt(
            sum(own) + sum(mu) ** 2 / (law.n_actions * law.constant)
        )
    entries = [
        part + one / (m * law.constant)
        for part, one, m in zip(own, mu, law.actions, strict=True)
    ]
    return scale * math.sqrt(max(entries))
