r"""What Algorithm 2 really gives away: lower bounds from the messages alone.

Hale & Egerstedt (arXiv 1509.08161), Algorithm 2, Step 1, and Theorem 2, whose mechanism
releases the messages :math:`\tilde q_j` and nothing else.

An upper bound by composition may be loose, since a message is less than the noisy
quantities that it is made of. Here are events of the messages themselves whose
likelihoods are known exactly.

One step, prices known. At the first step the prices :math:`\mu` are the constant that
the cloud starts from. Coordinate c of the message to agent j is

.. math:: \sum_l \mu_l (g_{x_j})_{lc} + b_j \sum_{l \in S} \mu_l W_l ,
          \qquad W_l \sim \mathrm{Lap}(1)\ \text{iid} ,

where S holds all constraints (noise shape ``"full"``), or those whose gradient in this
coordinate is not identically zero (``"structural"``): a constant plus a weighted sum of
Laplace variables (`dplib.privacy.laplace_sum`). Entries are independent. If agent i's
report moves the constant by d, the loss of the entry has the supremum
:math:`|d| / (b_j \max \mu_l)`, approached in one tail, and the loss of all entries has
the sum of these: `gradient_loss`.

The step after. The same report moves g, and so the next prices. A price that ends
at zero is visible: if all of them do, every next message is exactly zero, whatever the
noise in the gradients. With :math:`z_l = \mu_l (1 - \gamma\alpha)/\gamma + g_l(x)`,

.. math:: P(\text{all prices are 0}) = \prod_l P(w_{g,l} \le -z_l) ,

in both noise shapes: `silence_log_probability`. Noise of the two steps is independent,
so that losses add: `two_step_loss` is the log likelihood ratio of events that occur.

Units. Scales of noise are in the units of what they are added to: b_j in those of
:math:`g_{x_j}`, b_g in those of g, and a message's (b_j times a price) in those of the
message. Losses, epsilon and delta have none.

Agents count from 0. Idealised (real arithmetic).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.privacy.adjacency import Adjacency
from dplib.privacy.divergence import hockey_stick
from dplib.privacy.laplace_sum import laplace_sum_survival
from dplib.truthful.joint_privacy import Receivers, receiving_agents
from dplib.truthful.noise import NoiseScales, noise_support
from dplib.truthful.problem import Problem, agent, constraints, jacobian

__all__ = [
    "MessageEntry",
    "Messages",
    "Step",
    "agent_lower_bounds",
    "binned_distributions",
    "far_apart",
    "first_messages_delta",
    "gradient_loss",
    "message_entries",
    "messages_delta",
    "silence_log_probability",
    "two_step_loss",
    "worst_step",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Messages:
    """The messages of Algorithm 2 that some agents receive.

    Attributes
    ----------
    problem : Problem
        The instance.
    scales : NoiseScales
        Laplace scales of its noise: b_g in units of g, b_j in units of g_{x_j}.
    shape : {"full", "structural"}
        Shape of the noise (no array's), see `dplib.truthful.noise`.
    receivers : {"others", "all"} or collection of int
        Whose messages count, see `dplib.truthful.joint_privacy`.
    """

    problem: Problem
    scales: NoiseScales
    shape: str = "full"
    receivers: Receivers = "others"


@dataclass(frozen=True, eq=False)
class Step:
    """One step under two data, with known prices.

    Attributes
    ----------
    i : int
        The agent whose report differs.
    x, adjacent : numpy.ndarray, shape (n,)
        All reports under the two data; equal but for agent i.
    mu : numpy.ndarray, shape (m,)
        The prices, 0 or greater.
    """

    i: int
    x: FloatArray
    adjacent: FloatArray
    mu: FloatArray


@dataclass(frozen=True, eq=False)
class MessageEntry:
    """One coordinate of one message, under two data.

    Attributes
    ----------
    receiver : int
        Agent that gets it.
    value, adjacent : float
        Its value without noise under the two data.
    scales : numpy.ndarray, shape (terms,)
        Scales b_j mu_l of the Laplace variables whose sum is its noise, positive, in
        the units of the message, as `value` is.
    """

    receiver: int
    value: float
    adjacent: float
    scales: FloatArray

    @property
    def loss(self) -> float:
        """Supremum of the privacy loss of this entry."""
        return abs(self.value - self.adjacent) / float(self.scales.max())


def message_entries(messages: Messages, step: Step) -> list[MessageEntry]:
    """Return the entries of the messages that differ between the two data.

    (Entries whose value is the same under both tell nothing.)
    """
    problem, mu = messages.problem, step.mu
    support = noise_support(problem, messages.shape)
    values, moved = (mu @ jacobian(problem, x) for x in (step.x, step.adjacent))
    found = []
    for j in receiving_agents(problem, i=step.i, receivers=messages.receivers):
        mine = agent(problem, j)
        for c in range(mine.start, mine.stop):
            if values[c] != moved[c]:
                scales = messages.scales.b[j] * mu[support[:, c]]
                scales = scales[scales > 0.0]
                found.append(MessageEntry(j, float(values[c]), float(moved[c]), scales))
    return found


def gradient_loss(messages: Messages, step: Step) -> float:
    """Return the supremum of the loss of one step's messages. Exact.

    Examples
    --------
    Agent 1 of the paper moves by B = 3 while only constraint 1 has a price:

    >>> from dplib.truthful.noise import calibrated, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem = hale_egerstedt()
    >>> scales = calibrated(problem, adjacency=trajectory_adjacency(3.0), epsilon=1.0)
    >>> step = Step(0, np.zeros(16), 3.0 * np.eye(16)[0], np.eye(4)[0])
    >>> gradient_loss(Messages(problem, scales), step)
    1.5
    """
    return float(sum(entry.loss for entry in message_entries(messages, step)))


def silence_log_probability(
    messages: Messages, x: FloatArray, mu: FloatArray, *, gamma: float, alpha: float
) -> float:
    """Return log P(all prices, and so all messages, are zero after one step).

    Parameters
    ----------
    messages : Messages
        The instance and its noise; b_g must be positive.
    x : numpy.ndarray, shape (n,)
        Reports of the step.
    mu : numpy.ndarray, shape (m,)
        Prices before it, known.
    gamma, alpha : float
        Step size and regularisation of the step.
    """
    z = mu * (1.0 - gamma * alpha) / gamma + constraints(messages.problem, x)
    ratio = z / messages.scales.b_g
    tail = -np.maximum(ratio, 0.0) - np.log(2.0)  # log P(w <= -z) for z >= 0
    likely = np.log1p(-0.5 * np.exp(np.minimum(ratio, 0.0)))
    return float(np.sum(np.where(ratio >= 0.0, tail, likely)))


def two_step_loss(
    messages: Messages, step: Step, *, gamma: float, alpha: float
) -> float:
    r"""Return a lower bound on the loss of the messages of two steps.

    It is reached by one event, the prices of the first step known: the first messages
    lie far in the telling tails, and the second ones are all zero. Under full noise
    every receiver sees by a zero that *all* prices are zero; under structural noise
    the receivers do so together, if between them they touch every constraint. The loss
    is that of the more favourable order of the two data.

    Parameters
    ----------
    messages : Messages
        To receivers that together see every price.
    step : Step
        The first step; the reports of the second are equal.
    gamma, alpha : float
        As in `silence_log_probability`.

    Returns
    -------
    float
        A lower bound on the epsilon of pure differential privacy.

    Examples
    --------
    >>> from dplib.truthful.noise import calibrated, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem = hale_egerstedt()
    >>> scales = calibrated(problem, adjacency=trajectory_adjacency(3.0), epsilon=1.0)
    >>> x = far_apart(problem, i=6)
    >>> step = Step(6, x, x - 3.0 * np.eye(16)[12], np.array([0.0, 0.0, 1.0, 1.0]))
    >>> both = two_step_loss(Messages(problem, scales), step, gamma=0.01, alpha=0.5)
    >>> abs(both - (11 / 6 + 333 / 360)) < 1e-9
    True
    """
    problem, receivers = messages.problem, messages.receivers
    agents = receiving_agents(problem, i=step.i, receivers=receivers)
    if not agents:
        return 0.0
    support = noise_support(problem, messages.shape)
    seen = np.any([support[:, agent(problem, j)].any(axis=1) for j in agents], axis=0)
    if not seen.all():
        must = "a set of agents that together see every price"
        check.fail("receivers", "two_step_loss", must, receivers)
    silence, other = (
        silence_log_probability(messages, x, step.mu, gamma=gamma, alpha=alpha)
        for x in (step.x, step.adjacent)
    )
    return gradient_loss(messages, step) + abs(silence - other)


def far_apart(problem: Problem, *, i: int) -> FloatArray:
    """Return reports with agent i at its box's upper ends, all others at the lower.

    There the constraints that join it to others are steep.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> far_apart(hale_egerstedt(), i=1)[:4]
    array([-10., -10.,  10.,  10.])
    """
    x = problem.lower.copy()
    mine = agent(problem, i)
    x[mine] = problem.upper[mine]
    return x


def worst_step(
    problem: Problem, *, i: int, adjacency: Adjacency, loss: Callable[[Step], float]
) -> Step:
    """Return the step of agent i with the largest loss, of those that are tried.

    Tried: one coordinate of agent i moves by B, away from `far_apart` (if its box's
    side is less, the next ones move by the rest); prices 0 or 1 in all patterns. For
    `gradient_loss`, full noise and sides of at least B nothing is worse (the loss is
    convex in the move, and in the prices between 0 and their largest); otherwise it
    is a lower bound.

    Parameters
    ----------
    problem : Problem
        The instance, of few constraints m: 2^m patterns are tried.
    i : int
        Agent, 0 to N - 1.
    adjacency : Adjacency
        In the l1 norm; its radius is B.
    loss : callable
        What a step loses.
    """
    x, mine = far_apart(problem, i=i), agent(problem, i)
    patterns = np.array(list(itertools.product((0.0, 1.0), repeat=len(problem.c))))
    best, largest = Step(i, x, x, patterns[0]), 0.0
    for d in range(mine.start, mine.stop):
        moved, left = x.copy(), adjacency.radius
        for c in (*range(d, mine.stop), *range(mine.start, d)):
            side = min(left, problem.upper[c] - problem.lower[c])
            moved[c] -= side
            left -= side
        for mu in patterns:
            step = Step(i, x, moved, mu)
            value = loss(step)
            if value > largest + 1e-12:  # ties go to the first, to the last bit
                best, largest = step, value
    return best


def agent_lower_bounds(
    messages: Messages, *, adjacency: Adjacency, gamma: float, alpha: float
) -> FloatArray:
    """Return the loss that two steps' messages reach about every agent, shape (N,).

    `two_step_loss` in the worst step that is tried; compare
    `dplib.truthful.joint_privacy.joint_epsilons`, the bounds from above.

    Examples
    --------
    >>> from dplib.truthful.noise import calibrated, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem, adjacency = hale_egerstedt(), trajectory_adjacency(3.0)
    >>> scales = calibrated(problem, adjacency=adjacency, epsilon=1.0)
    >>> agent_lower_bounds(Messages(problem, scales), adjacency=adjacency,
    ...                    gamma=0.01, alpha=0.5).round(3)
    array([2.117, 0.808, 1.45 , 1.45 , 2.258, 1.45 , 2.758, 0.642])
    """

    def loss(step: Step) -> float:
        return two_step_loss(messages, step, gamma=gamma, alpha=alpha)

    problem = messages.problem
    worst = (
        worst_step(problem, i=i, adjacency=adjacency, loss=loss)
        for i in range(problem.n_agents)
    )
    return np.array([loss(step) for step in worst])


def binned_distributions(
    entry: MessageEntry, *, bins: int = 200, reach: float = 12.0
) -> tuple[FloatArray, FloatArray]:
    """Return the distributions of an entry over intervals, as log probabilities.

    Merging outcomes is post-processing, so a divergence of the two (with
    `dplib.privacy.divergence`) is a lower bound on that of the message.

    Parameters
    ----------
    entry : MessageEntry
        The entry.
    bins : int
        Number of intervals, 4 or more; the two outer ones are unbounded.
    reach : float
        Where they begin: so many largest scales beyond the two values. Not used
        for a single Laplace variable: beyond the two values its loss is constant,
        and merging there loses nothing.

    Returns
    -------
    log_p, log_q : numpy.ndarray, shape (bins,)
        Under the first and the second datum.

    Examples
    --------
    >>> entry = MessageEntry(0, 0.0, 1.0, np.array([1.0]))
    >>> log_p, log_q = binned_distributions(entry)
    >>> print((log_p - log_q).max().round(9))
    1.0
    """
    scales = entry.scales
    beyond = reach * scales.max() if scales.size > 1 else 0.0
    low, high = sorted([entry.value, entry.adjacent])
    edges = np.linspace(low - beyond, high + beyond, bins - 1)

    def around(centre: float) -> FloatArray:
        above = np.asarray(laplace_sum_survival(edges - centre, scales=scales))
        below = np.asarray(laplace_sum_survival(centre - edges, scales=scales))
        # Differences of the smaller tails keep their digits.
        inner = np.where(
            edges[:-1] >= centre, above[:-1] - above[1:], below[1:] - below[:-1]
        )
        masses = np.concatenate([below[:1], inner, above[-1:]])
        with np.errstate(divide="ignore"):  # an interval that nothing falls into
            return np.asarray(np.log(masses / masses.sum()))

    return around(entry.value), around(entry.adjacent)


def messages_delta(
    entries: Sequence[MessageEntry], *, epsilon: ArrayLike, bins: int = 150
) -> FloatArray:
    """Return lower bounds on delta(epsilon) of several independent entries.

    Lower, since the bins tell less than the entries do: the hockey-stick divergence of
    the product of `binned_distributions`. ``bins`` to the power of the number of
    entries outcomes are enumerated.

    Parameters
    ----------
    entries : sequence of MessageEntry
        A few: one to three.
    epsilon : array_like
        Where to evaluate, 0 or greater.
    bins : int
        As in `binned_distributions`.

    Examples
    --------
    >>> one = MessageEntry(0, 0.0, 3.0, np.array([1.0]))
    >>> exact = 1 - np.exp((1.0 - 3.0) / 2)
    >>> bool(exact - 1e-3 < messages_delta([one], epsilon=1.0) <= exact)
    True
    """
    log_p, log_q = np.zeros(1), np.zeros(1)
    for entry in entries:
        p, q = binned_distributions(entry, bins=bins)
        log_p = np.add.outer(log_p, p).ravel()
        log_q = np.add.outer(log_q, q).ravel()
    return np.asarray(hockey_stick(log_p=log_p, log_q=log_q, epsilon=epsilon))


def first_messages_delta(
    messages: Messages,
    *,
    i: int,
    adjacency: Adjacency,
    epsilon: ArrayLike,
    bins: int = 60,
) -> FloatArray:
    """Return lower bounds on delta(epsilon) of one step's messages about agent i.

    `messages_delta` in the step in which they lose most (`worst_step`).

    Examples
    --------
    >>> from dplib.truthful.noise import table_one, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> first_messages_delta(Messages(hale_egerstedt(), table_one()), i=0,
    ...     adjacency=trajectory_adjacency(3.0), epsilon=[np.log(3)]).round(3)
    array([0.264])
    """
    worst = worst_step(
        messages.problem,
        i=i,
        adjacency=adjacency,
        loss=lambda step: gradient_loss(messages, step),
    )
    return messages_delta(message_entries(messages, worst), epsilon=epsilon, bins=bins)
