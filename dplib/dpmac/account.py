r"""The privacy account of the messages, Section 5.1.

Model. At each step agent i makes a message of 2-norm at most C from its own trajectory,
adds noise :math:`N(0, \sigma^2 I)` to it, and sends it. Two messages differ by 2C at
most, the *sensitivity*; with m independent messages that all may change it is
:math:`2C \sqrt m`, and the exact curve of the Gaussian mechanism
(`dplib.privacy.gaussian`) says what they give away. That is a worst case over all
senders with norm C, reached or approached by messages m and -m.

Theorem 5.1 sets, with :math:`\alpha = \ln(1/\delta) / (\varepsilon (1 - \beta)) + 1`,

.. math:: \sigma^2 = 14 \gamma_2 \gamma_1^2 N C^2 \alpha / (\beta \varepsilon),

on the condition that :math:`s = \sigma^2 / (4 C^2) \ge 0.7` and
:math:`\alpha \le \tfrac23 s \ln(\cdot) + 1`. The paper prints the logarithm's argument
as :math:`1/\gamma_1 \alpha (1+s)`. Here both readings stand: ``"lemma"``,
:math:`1 / (\gamma_1 \alpha (1+s))`, as in the lemma on sampled Gaussian noise that is
behind it (Wang, Jayaraman, Evans and Gu 2019), and ``"left to right"``,
:math:`\alpha (1+s) / \gamma_1`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from dplib import check
from dplib.privacy.gaussian import gaussian_epsilon, group_sensitivity

__all__ = [
    "Condition",
    "Reading",
    "Task",
    "capacity",
    "condition",
    "largest_rate",
    "message_epsilon",
    "theorem_sigma",
]

Reading = Literal["lemma", "left to right"]


@dataclass(frozen=True)
class Task:
    """What the account needs to know of a task.

    Parameters
    ----------
    name : str
        Short name.
    steps : int
        Length T of an episode; an agent sends at each step.
    receivers : int
        To how many others it sends.
    """

    name: str
    steps: int
    receivers: int

    @property
    def rate(self) -> float:
        """Gamma_1 = 1/T: one transition of an episode."""
        return 1.0 / self.steps

    @property
    def messages(self) -> dict[str, int]:
        """How many messages there are in one message, step and episode.

        Examples
        --------
        >>> Task("three agents", steps=25, receivers=2).messages
        {'message': 1, 'step': 2, 'episode': 50}
        """
        step = self.receivers
        return {"message": 1, "step": step, "episode": step * self.steps}


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Theorem 5.1's side condition at one setting.

    Parameters
    ----------
    s : float
        Noise variance over the squared sensitivity; must be 0.7 or more.
    alpha : float
        The order alpha.
    allowed : float
        The largest alpha that the condition allows.
    """

    s: float
    alpha: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether both inequalities hold."""
        return self.s >= 0.7 and self.alpha <= self.allowed


def theorem_sigma(
    *,
    epsilon: float,
    delta: float,
    beta: float,
    gamma1: float,
    gamma2: float,
    N: float,
    C: float,
) -> float:
    """Return the deviation of the noise that Theorem 5.1 prescribes.

    Parameters
    ----------
    epsilon, delta : float
        The budget; epsilon positive, delta strictly between 0 and 1.
    beta : float
        How the budget is split, strictly between 0 and 1.
    gamma1, gamma2 : float
        Rates at which transitions and receivers are sampled, above 0, at most 1.
    N : float
        Number of agents, 1 or more.
    C : float
        Norm of a message, positive.

    Examples
    --------
    Here alpha = 3 and the variance is 14 * 3 / (1/2 * 1) = 84:

    >>> rates = {"gamma1": 1.0, "gamma2": 1.0, "N": 1, "C": 1.0}
    >>> sigma = theorem_sigma(epsilon=1.0, delta=math.exp(-1), beta=0.5, **rates)
    >>> round(sigma**2, 9)
    84.0
    """
    budget = check.positive("epsilon", epsilon, "theorem_sigma")
    norm = check.positive("C", C, "theorem_sigma")
    agents = check.positive("N", N, "theorem_sigma")
    alpha = _alpha(budget, delta, beta)
    for name, rate in {"gamma1": gamma1, "gamma2": gamma2}.items():
        if not 0.0 < check.finite(name, rate, "theorem_sigma") <= 1.0:
            check.fail(name, "theorem_sigma", "above 0 and at most 1", rate)
    variance = 14.0 * gamma2 * gamma1**2 * agents * norm**2 * alpha / (beta * budget)
    return math.sqrt(variance)


def condition(
    *,
    epsilon: float,
    delta: float,
    beta: float,
    gamma1: float,
    gamma2: float,
    N: float,
    reading: Reading = "lemma",
) -> Condition:
    """Return Theorem 5.1's side condition; arguments as in `theorem_sigma`.

    Examples
    --------
    >>> rates = {"gamma1": 0.001, "gamma2": 1.0, "N": 2}
    >>> found = condition(epsilon=1.0, delta=1e-4, beta=1e-5, **rates)
    >>> found.holds, round(found.s, 2)
    (True, 7.15)
    """
    check.member("reading", reading, "condition", get_args(Reading))
    rates = {"gamma1": gamma1, "gamma2": gamma2, "N": N}
    sigma = theorem_sigma(epsilon=epsilon, delta=delta, beta=beta, C=0.5, **rates)
    alpha, s = _alpha(epsilon, delta, beta), sigma**2
    log = math.log(alpha) + math.log1p(s)
    log = -math.log(gamma1) + (log if reading == "left to right" else -log)
    return Condition(s=s, alpha=alpha, allowed=2.0 * s * log / 3.0 + 1.0)


def largest_rate(*, epsilon: float, delta: float) -> float:
    r"""Return a gamma_1 above which no choice of beta, N, C, gamma_2 is allowed.

    The condition is read as in the lemma. It says
    :math:`a \le \alpha - 1 \le \tfrac23 s \ln(1 / (\gamma_1 \alpha (1+s)))` with
    :math:`a = \ln(1/\delta)/\varepsilon`, and :math:`\alpha \ge 1 + a`. So a is at most
    the maximum over s of :math:`\tfrac23 s \ln(A/(1+s))` with
    :math:`A = 1 / (\gamma_1 (1 + a))`. At the maximum :math:`y = 1/(1+s)` solves
    :math:`y e^y = e/A`, and the value is :math:`\tfrac23 (1-y)^2 / y`. Equality gives
    y, and y gives gamma_1.

    Examples
    --------
    >>> round(1.0 / largest_rate(epsilon=1.0, delta=1e-4), 1)
    410.3
    """
    a = -math.log(_open("delta", delta)) / check.positive(
        "epsilon", epsilon, "largest_rate"
    )
    r = 1.0 + 0.75 * a  # (1 - y)^2 = 2 (r - 1) y, of which the root below 1:
    y = 1.0 / (r + math.sqrt(r * r - 1.0))
    return y * math.exp(y - 1.0) / (1.0 + a)


def message_epsilon(*, messages: int, sigma: float, C: float, delta: float) -> float:
    """Return the exact epsilon of so many messages, if all of them may change.

    Parameters
    ----------
    messages : int
        How many messages with noise of their own, 1 or more.
    sigma : float
        Deviation of the noise of every coordinate.
    C : float
        Norm of a message, positive.
    delta : float
        Strictly between 0 and 1.

    Examples
    --------
    >>> round(message_epsilon(messages=4, sigma=2.0, C=0.5, delta=1e-4), 3)
    3.804
    """
    norm = check.positive("C", C, "message_epsilon")
    count = check.integer("messages", messages, "message_epsilon", low=1)
    distance = group_sensitivity(sensitivity=2.0 * norm, entries=count)
    return gaussian_epsilon(sensitivity=distance, sigma=sigma, delta=delta)


def capacity(*, C: float, sigma: float, size: int) -> float:
    r"""Return the most bits that a message of norm C can carry through the noise.

    :math:`\tfrac d2 \log_2(1 + C^2 / (d \sigma^2))`, the capacity of d Gaussian
    channels that share the power :math:`C^2`: an upper bound for every code and sender,
    also for one that hears replies.

    Examples
    --------
    >>> capacity(C=2.0, sigma=1.0, size=4)
    2.0
    """
    return size / 2.0 * math.log1p((C / sigma) ** 2 / size) / math.log(2.0)


def _open(name: str, value: float) -> float:
    if not 0.0 < check.finite(name, value, "Theorem 5.1") < 1.0:
        check.fail(name, "Theorem 5.1", "a float strictly between 0 and 1", value)
    return value


def _alpha(epsilon: float, delta: float, beta: float) -> float:
    split = _open("beta", beta)
    return -math.log(_open("delta", delta)) / (epsilon * (1.0 - split)) + 1.0
