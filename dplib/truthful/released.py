r"""What Algorithm 2 really gives away: lower bounds from the messages alone.

Hale & Egerstedt (arXiv 1509.08161), Theorem 2, whose mechanism releases the messages
:math:`\tilde q_j` and nothing else.

An upper bound by composition may be loose, since a message is less than the noisy
quantities that it is made of. Here are events of the messages themselves whose
likelihoods are known exactly.

One step, prices known. At the first step the prices :math:`\mu` are the constant that
the cloud starts from. An entry of a message to agent j is a constant plus a weighted
sum of Laplace variables with the weights :math:`b_j \mu_l`
(`dplib.truthful.message_laws`). If agent i's report moves the constant by d, the loss
of the entry has the supremum :math:`|d| / (b_j \max \mu_l)`, approached in one tail,
and the loss of all entries has the sum of these: `gradient_loss`.

The step after. The same report moves g, and so the next prices. A price that ends
at zero is visible: if all of them do, every next message is exactly zero, whatever the
noise in the gradients. With :math:`z_l = \mu_l (1 - \gamma\alpha)/\gamma + g_l(x)`,

.. math:: P(\text{all prices are 0}) = \prod_l P(w_{g,l} \le -z_l) ,

in both noise shapes: `silence_log_probability`. Noise of the two steps is independent,
so that losses add: `two_step_loss` is the log likelihood ratio of events that occur.

Agents count from 0. Idealised (real arithmetic).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.privacy.adjacency import Adjacency
from dplib.truthful.joint_privacy import Receivers, receiving_agents
from dplib.truthful.message_laws import message_entries, messages_delta
from dplib.truthful.noise import NoiseScales, noise_support, trajectory_radius
from dplib.truthful.problem import Problem, agent, constraints

__all__ = [
    "Witness",
    "agent_lower_bounds",
    "far_apart",
    "first_messages_delta",
    "gradient_loss",
    "silence_log_probability",
    "two_step_loss",
    "worst_gradient_loss",
    "worst_two_step_loss",
]

FloatArray = NDArray[np.float64]

MAX_CONSTRAINTS = 12  # 2^12 price patterns are tried


@dataclass(frozen=True, eq=False)
class Witness:
    """The worst case found, and what attains it.

    Attributes
    ----------
    loss : float
        Log likelihood ratio.
    x, adjacent : numpy.ndarray, shape (n,)
        Reports under the two data.
    mu : numpy.ndarray, shape (m,)
        Known prices.
    """

    loss: float
    x: FloatArray
    adjacent: FloatArray
    mu: FloatArray


def gradient_loss(
    problem: Problem,
    scales: NoiseScales,
    *,
    i: int,
    x: ArrayLike,
    adjacent: ArrayLike,
    mu: ArrayLike,
    shape: str,
    receivers: Receivers = "others",
) -> float:
    """Return the supremum of the loss of one step's messages, prices known.

    Exact, for the given pair of reports; arguments as in `message_entries`.

    Examples
    --------
    Agent 1 of the paper moves by B = 3 while only constraint 1 has a price:

    >>> from dplib.truthful.noise import calibrated, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem = hale_egerstedt()
    >>> scales = calibrated(problem, adjacency=trajectory_adjacency(3.0), epsilon=1.0)
    >>> step = np.eye(16)[0] * 3.0
    >>> gradient_loss(problem, scales, i=0, x=np.zeros(16), adjacent=step,
    ...               mu=[1, 0, 0, 0], shape="full")
    1.5
    """
    check.instance("problem", problem, "gradient_loss", Problem)
    check.instance("scales", scales, "gradient_loss", NoiseScales)
    entries = message_entries(
        problem,
        scales,
        i=i,
        x=x,
        adjacent=adjacent,
        mu=mu,
        shape=shape,
        receivers=receivers,
    )
    return float(sum(one.loss for one in entries))


def silence_log_probability(
    problem: Problem,
    scales: NoiseScales,
    *,
    x: ArrayLike,
    mu: ArrayLike,
    gamma: float,
    alpha: float,
) -> float:
    """Return log P(all prices are zero after one step, and so all messages).

    Parameters
    ----------
    problem, scales
        The instance and its noise.
    x : array_like, shape (n,)
        Reports of the step.
    mu : array_like, shape (m,)
        Prices before it, known.
    gamma, alpha : float
        Step size and regularisation of the step.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> noise = NoiseScales(1.0, np.ones(8))
    >>> at = silence_log_probability(hale_egerstedt(), noise, x=np.zeros(16),
    ...                              mu=np.zeros(4), gamma=0.01, alpha=0.5)
    >>> at > -0.06  # all constraints hold with room: most likely no price
    True
    """
    check.instance("problem", problem, "silence_log_probability", Problem)
    check.instance("scales", scales, "silence_log_probability", NoiseScales)
    where = "silence_log_probability"
    gamma = check.positive("gamma", gamma, where)
    alpha = check.nonnegative("alpha", alpha, where)
    b_g = check.positive("scales.b_g", scales.b_g, where)
    prices = check.array("mu", mu, where, shape=(problem.n_constraints,))
    z = prices * (1.0 - gamma * alpha) / gamma + constraints(problem, x)
    ratio = z / b_g
    tail = -np.maximum(ratio, 0.0) - np.log(2.0)  # log P(w <= -z) for z >= 0
    likely = np.log1p(-0.5 * np.exp(np.minimum(ratio, 0.0)))
    return float(np.sum(np.where(ratio >= 0.0, tail, likely)))


def two_step_loss(
    problem: Problem,
    scales: NoiseScales,
    *,
    i: int,
    x: ArrayLike,
    adjacent: ArrayLike,
    mu: ArrayLike,
    shape: str,
    gamma: float,
    alpha: float,
    receivers: Receivers = "others",
) -> float:
    r"""Return a loss that the messages of two steps reach, prices known at first.

    The event: the first messages lie far in the telling tails, and the second
    ones are all zero. Under full noise every receiver sees by a zero that *all*
    prices are zero; under structural noise the receivers do so together, if
    between them they touch every constraint. The loss is that of the more
    favourable order of the two data.

    Parameters
    ----------
    problem, scales, i, x, adjacent, mu, shape, receivers
        As in `message_entries`; the reports differ in this step only.
    gamma, alpha : float
        As in `silence_log_probability`.

    Returns
    -------
    float
        A lower bound on the epsilon of pure differential privacy.

    Raises
    ------
    TypeError, ValueError
        As in the two functions, or if a price is invisible to the receivers.

    Examples
    --------
    >>> from dplib.truthful.noise import calibrated, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem = hale_egerstedt()
    >>> scales = calibrated(problem, adjacency=trajectory_adjacency(3.0), epsilon=1.0)
    >>> x = far_apart(problem, i=6)
    >>> both = two_step_loss(problem, scales, i=6, x=x, adjacent=x - 3 * np.eye(16)[12],
    ...                      mu=[0, 0, 1, 1], shape="structural", gamma=0.01, alpha=0.5)
    >>> abs(both - (11 / 6 + 333 / 360)) < 1e-9
    True
    """
    check.instance("problem", problem, "two_step_loss", Problem)
    check.instance("scales", scales, "two_step_loss", NoiseScales)
    agents = receiving_agents(problem, i=i, receivers=receivers)
    if not agents:
        return 0.0
    support = noise_support(problem, shape)
    seen = [support[:, agent(problem, j)].any(axis=1) for j in agents]
    if not np.all(np.any(seen, axis=0)):
        must = "a set of agents that together see every price"
        check.fail("receivers", "two_step_loss", must, receivers)
    first = gradient_loss(
        problem,
        scales,
        i=i,
        x=x,
        adjacent=adjacent,
        mu=mu,
        shape=shape,
        receivers=receivers,
    )
    silence = [
        silence_log_probability(problem, scales, x=at, mu=mu, gamma=gamma, alpha=alpha)
        for at in (x, adjacent)
    ]
    return first + abs(silence[0] - silence[1])


def far_apart(problem: Problem, *, i: int) -> FloatArray:
    """Return reports with agent i at its box's upper ends, all others at the lower.

    There the constraints that join it to others are steep.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> far_apart(hale_egerstedt(), i=1)[:4]
    array([-10., -10.,  10.,  10.])
    """
    check.instance("problem", problem, "far_apart", Problem)
    x = problem.lower.copy()
    mine = agent(problem, i)
    x[mine] = problem.upper[mine]
    return x


def worst_gradient_loss(
    problem: Problem,
    scales: NoiseScales,
    *,
    i: int,
    adjacency: Adjacency,
    shape: str,
    receivers: Receivers = "others",
) -> Witness:
    """Return the worst step of agent i with known prices, of those that are tried.

    Tried: one coordinate of agent i moves by B, away from `far_apart` (if its box's
    side is less, the next ones move by the rest); prices 0 or 1 in all patterns. For
    full noise and sides of at least B nothing is worse (the loss is convex in the
    move, and in the prices between 0 and their largest); otherwise it is a lower
    bound.

    Parameters
    ----------
    problem, scales, i, shape, receivers
        As in `message_entries`.
    adjacency : Adjacency
        In the l1 norm; its radius is B.

    Returns
    -------
    Witness

    Raises
    ------
    TypeError, ValueError
        As in `message_entries`, or if there are more than 12 constraints.

    Examples
    --------
    >>> from dplib.truthful.noise import table_one, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> worst = worst_gradient_loss(hale_egerstedt(), table_one(), i=6,
    ...     adjacency=trajectory_adjacency(3.0), shape="structural")
    >>> round(worst.loss, 3), worst.mu
    (2.015, array([0., 0., 1., 1.]))
    """
    check.instance("problem", problem, "worst_gradient_loss", Problem)
    check.instance("scales", scales, "worst_gradient_loss", NoiseScales)
    check.instance("adjacency", adjacency, "worst_gradient_loss", Adjacency)

    def loss(x: FloatArray, moved: FloatArray, mu: FloatArray) -> float:
        return gradient_loss(
            problem,
            scales,
            i=i,
            x=x,
            adjacent=moved,
            mu=mu,
            shape=shape,
            receivers=receivers,
        )

    return _worst(problem, i, adjacency, loss, "worst_gradient_loss")


def worst_two_step_loss(
    problem: Problem,
    scales: NoiseScales,
    *,
    i: int,
    adjacency: Adjacency,
    shape: str,
    gamma: float,
    alpha: float,
    receivers: Receivers = "others",
) -> Witness:
    """Return the worst case of `two_step_loss` among those that are tried.

    The same as in `worst_gradient_loss`; parameters as there and in
    `two_step_loss`.
    """
    check.instance("problem", problem, "worst_two_step_loss", Problem)
    check.instance("scales", scales, "worst_two_step_loss", NoiseScales)
    check.instance("adjacency", adjacency, "worst_two_step_loss", Adjacency)

    def loss(x: FloatArray, moved: FloatArray, mu: FloatArray) -> float:
        return two_step_loss(
            problem,
            scales,
            i=i,
            x=x,
            adjacent=moved,
            mu=mu,
            shape=shape,
            gamma=gamma,
            alpha=alpha,
            receivers=receivers,
        )

    return _worst(problem, i, adjacency, loss, "worst_two_step_loss")


def agent_lower_bounds(
    problem: Problem,
    scales: NoiseScales,
    *,
    adjacency: Adjacency,
    gamma: float,
    alpha: float,
    shape: str = "full",
    receivers: Receivers = "others",
) -> FloatArray:
    """Return the loss that the messages reach about every agent, shape (N,).

    `worst_two_step_loss` for each agent; compare
    `dplib.truthful.joint_privacy.joint_epsilons`, the bounds from above.

    Examples
    --------
    >>> from dplib.truthful.noise import calibrated, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem, adjacency = hale_egerstedt(), trajectory_adjacency(3.0)
    >>> scales = calibrated(problem, adjacency=adjacency, epsilon=1.0)
    >>> agent_lower_bounds(problem, scales, adjacency=adjacency,
    ...                    gamma=0.01, alpha=0.5).round(3)
    array([2.117, 0.808, 1.45 , 1.45 , 2.258, 1.45 , 2.758, 0.642])
    """
    check.instance("problem", problem, "agent_lower_bounds", Problem)
    check.instance("scales", scales, "agent_lower_bounds", NoiseScales)
    check.instance("adjacency", adjacency, "agent_lower_bounds", Adjacency)
    return np.array(
        [
            worst_two_step_loss(
                problem,
                scales,
                i=i,
                adjacency=adjacency,
                shape=shape,
                gamma=gamma,
                alpha=alpha,
                receivers=receivers,
            ).loss
            for i in range(problem.n_agents)
        ]
    )


def first_messages_delta(
    problem: Problem,
    scales: NoiseScales,
    *,
    i: int,
    adjacency: Adjacency,
    shape: str,
    epsilon: ArrayLike,
    bins: int = 60,
) -> FloatArray:
    """Return lower bounds on delta(epsilon) of one step's messages about agent i.

    At the pair of reports and the known prices of `worst_gradient_loss`.

    Parameters
    ----------
    problem, scales, i, adjacency, shape
        As in `worst_gradient_loss`.
    epsilon : array_like, shape (levels,)
        Where to evaluate, 0 or greater.
    bins : int
        As in `messages_delta`.

    Examples
    --------
    >>> from dplib.truthful.noise import table_one, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> first_messages_delta(hale_egerstedt(), table_one(), i=0, shape="full",
    ...     adjacency=trajectory_adjacency(3.0), epsilon=[np.log(3)]).round(3)
    array([0.264])
    """
    check.instance("problem", problem, "first_messages_delta", Problem)
    check.instance("scales", scales, "first_messages_delta", NoiseScales)
    check.instance("adjacency", adjacency, "first_messages_delta", Adjacency)
    worst = worst_gradient_loss(problem, scales, i=i, adjacency=adjacency, shape=shape)
    entries = message_entries(
        problem,
        scales,
        i=i,
        x=worst.x,
        adjacent=worst.adjacent,
        mu=worst.mu,
        shape=shape,
    )
    levels = check.array("epsilon", epsilon, "first_messages_delta", shape=(None,))
    return np.array(
        [messages_delta(entries, epsilon=float(one), bins=bins) for one in levels]
    )


def _worst(
    problem: Problem,
    i: int,
    adjacency: Adjacency,
    loss: Callable[[FloatArray, FloatArray, FloatArray], float],
    where: str,
) -> Witness:
    """Try every coordinate of agent i and every pattern of prices."""
    m = problem.n_constraints
    if m > MAX_CONSTRAINTS:
        must = f"an instance with at most {MAX_CONSTRAINTS} constraints"
        check.fail("problem", where, must, f"{m} constraints")
    B = trajectory_radius(adjacency, where)
    x = far_apart(problem, i=i)
    best = Witness(0.0, x, x, np.zeros(m))
    mine = agent(problem, i)
    for d in range(mine.start, mine.stop):
        moved, left = x.copy(), B
        for c in (*range(d, mine.stop), *range(mine.start, d)):
            side = min(left, problem.upper[c] - problem.lower[c])
            moved[c] -= side
            left -= side
        for pattern in itertools.product((0.0, 1.0), repeat=m):
            mu = np.array(pattern)
            value = loss(x, moved, mu)
            if value > best.loss + 1e-12:  # ties go to the first, to the last bit
                best = Witness(value, x, moved, mu)
    return best
