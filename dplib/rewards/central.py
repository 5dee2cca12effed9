r"""How private a noisy joint reward really is, to somebody who sees only that.

Benvenuti et al., Sections 3.2 and 3.3, Remarks 4 to 6, Appendix A.

Model. What an onlooker can learn goes through the private joint reward (the policy is
made from it). A change d of the true joint reward in one state, under noise with the
covariance of `dplib.rewards.mechanism`, is seen as a Gaussian shift of

.. math:: u^2 = \frac{\|\bar d\|^2}{v_0} + \sum_i \frac{\|P_i d\|^2}{v_i}

standard deviations, and its exact (epsilon, delta) curve is that of
`dplib.privacy.gaussian` at this u, for a sensitivity of u and a sigma of 1 (for
Gaussian shifts the worst event is a half space). A change by b in one entry of agent
j's table has

.. math:: u_j^2 = \frac{b^2 \mu_j}{N^2}
    \left[\frac{1 - 1/m_j}{v_j} + \frac{1/m_j}{v_0}\right] .

Noise outside the range of J does not appear: projecting it away costs no privacy.

Whose privacy. *entry*: one entry of one agent's table (Definition 3, Remark 5).
*team*: one entry of every agent's at once (Remark 4 read jointly), at worst all in one
state and of one sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dplib import check
from dplib.privacy import gaussian
from dplib.rewards.mechanism import Mechanism, mechanisms
from dplib.rewards.tables import appearances

__all__ = ["central_shift", "equally_private", "matched"]


def central_shift(
    mechanism: Mechanism, *, bound: float, change: str = "entry"
) -> float:
    """Return the largest shift u that an adjacent change causes, in deviations.

    Parameters
    ----------
    mechanism : Mechanism
        Noise on the joint reward.
    bound : float
        Adjacency parameter b, positive, in the unit of the rewards.
    change : {"entry", "team"}
        What may differ, by up to `bound`: one entry of one agent's table, or one
        entry of every agent's.

    Examples
    --------
    Algorithm 1 with 2 agents of 4 actions at sigma = 1: an entry is a little better
    protected in the joint reward than in the agent's own table, where u = 1.

    >>> from dplib.rewards.mechanism import input_noise
    >>> central_shift(input_noise([4, 4], sigma=1.0), bound=1.0) ** 2
    0.875
    """
    check.positive("bound", bound, "central_shift")
    check.member("change", change, "central_shift", ("entry", "team"))
    m, v = mechanism.actions, mechanism.agents
    mu = appearances(m)
    own = [u * (1.0 - 1.0 / k) / one for u, k, one in zip(mu, m, v, strict=True)]
    if change == "team":
        # The constants add up before they are squared: at worst, one state, one sign.
        square = sum(own) + sum(mu) ** 2 / (mechanism.n_actions * mechanism.constant)
    else:
        square = max(
            part + u / (k * mechanism.constant)
            for part, u, k in zip(own, mu, m, strict=True)
        )
    return float(bound) / mechanism.n_agents * math.sqrt(square)


def matched(
    mechanism: Mechanism, *, bound: float, epsilon: float, delta: float
) -> Mechanism:
    """Return the mechanism scaled so that its true central privacy is (epsilon, delta).

    Mechanisms that are matched at one (epsilon, delta) have one privacy curve: they are
    equally private at every other pair, too.

    Parameters
    ----------
    mechanism : Mechanism
        Any deviation will do: only the shape of the noise matters.
    bound : float
        Adjacency parameter b: one reward may differ by so much.
    epsilon, delta : float
        As in `gaussian.analytic_sigma`.

    Examples
    --------
    >>> from dplib.rewards.mechanism import tight_output
    >>> private = matched(tight_output([4, 4], sigma=9.0), bound=1.0, epsilon=1.0,
    ...                   delta=0.01)
    >>> shift = central_shift(private, bound=1.0)
    >>> round(gaussian.gaussian_epsilon(sensitivity=shift, sigma=1.0, delta=0.01), 9)
    1.0
    """
    shift = central_shift(mechanism, bound=bound)
    needed = gaussian.analytic_sigma(sensitivity=shift, epsilon=epsilon, delta=delta)
    return mechanism.scaled(needed)


def equally_private(
    actions: Sequence[int], *, bound: float, epsilon: float, delta: float
) -> dict[str, Mechanism]:
    """Return all mechanisms, each with true central privacy (epsilon, delta).

    By the names in `MECHANISMS`; "printed" and "exact" are the same one.
    Other arguments as in `matched`.

    Examples
    --------
    >>> private = equally_private([4, 4], bound=1.0, epsilon=1.0, delta=0.01)
    >>> round(private["input"].deviation / private["projected"].deviation, 9)
    1.0
    """
    return {
        name: matched(one, bound=bound, epsilon=epsilon, delta=delta)
        for name, one in mechanisms(actions, sigma=1.0).items()
    }
