r"""The law of one step's messages when the prices are known.

Hale & Egerstedt (arXiv 1509.08161), Algorithm 2, Step 1.

Model. Coordinate c of the message to agent j is

.. math:: \sum_l \mu_l (g_{x_j})_{lc} + b_j \sum_{l \in S} \mu_l W_l ,
          \qquad W_l \sim \mathrm{Lap}(1)\ \text{iid} ,

where S holds all constraints (noise shape ``"full"``), or those whose gradient in
this coordinate is not identically zero (``"structural"``): a constant plus a weighted
sum of Laplace variables (`dplib.privacy.laplace_sum`). Entries are independent. Under
two reports of agent i only the constants differ.

Agents count from 0. Idealised (real arithmetic).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.privacy.divergence import hockey_stick
from dplib.privacy.laplace_sum import laplace_sum_survival
from dplib.truthful.joint_privacy import Receivers, receiving_agents
from dplib.truthful.noise import NoiseScales, matching, noise_support
from dplib.truthful.problem import Problem, agent, jacobian

__all__ = ["MessageEntry", "binned_laws", "message_entries", "messages_delta"]

FloatArray = NDArray[np.float64]

MAX_REACH = 700.0  # beyond it the outer probabilities underflow
MAX_OUTCOMES = 10**8


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
        Scales of the Laplace variables whose sum is its noise.
    """

    receiver: int
    value: float
    adjacent: float
    scales: FloatArray

    def __post_init__(self) -> None:
        where = "MessageEntry"
        check.integer("receiver", self.receiver, where, low=0)
        check.finite("value", self.value, where)
        check.finite("adjacent", self.adjacent, where)
        scales = check.array("scales", self.scales, where, shape=(None,))
        if scales.size == 0 or scales.min() <= 0.0:
            check.fail("scales", where, "one or more positive numbers", self.scales)
        object.__setattr__(self, "scales", scales)

    @property
    def loss(self) -> float:
        """Supremum of the privacy loss of this entry."""
        return abs(self.value - self.adjacent) / float(self.scales.max())


def message_entries(
    problem: Problem,
    scales: NoiseScales,
    *,
    i: int,
    x: ArrayLike,
    adjacent: ArrayLike,
    mu: ArrayLike,
    shape: str,
    receivers: Receivers = "others",
) -> list[MessageEntry]:
    """Return the entries of the messages that differ between two reports.

    Parameters
    ----------
    problem, scales
        The instance and its noise.
    i : int
        The agent whose report differs.
    x, adjacent : array_like, shape (n,)
        All reports of the step, under the two data; equal but for agent i.
    mu : array_like, shape (m,)
        The prices, known, 0 or greater.
    shape : {"full", "structural"}
        Shape of the noise, see `dplib.truthful.noise`.
    receivers : {"others", "all"} or collection of int
        Whose messages count.

    Returns
    -------
    list of MessageEntry
        Entries whose value is the same under both tell nothing, and are left
        out.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or an entry that differs has no noise.
    """
    check.instance("problem", problem, "message_entries", Problem)
    where = "message_entries"
    matching(problem, scales, where)
    agents = receiving_agents(problem, i=i, receivers=receivers)
    first = check.array("x", x, where, shape=(problem.n_states,))
    second = check.array("adjacent", adjacent, where, shape=(problem.n_states,))
    others = np.ones(problem.n_states, dtype=bool)
    others[agent(problem, i)] = False
    if np.any(first[others] != second[others]):
        must = f"equal to 'x' but for the coordinates of agent {i}"
        check.fail("adjacent", where, must, second.tolist())
    prices = check.array("mu", mu, where, shape=(problem.n_constraints,))
    if np.any(prices < 0.0):
        check.fail("mu", where, "non-negative", prices.tolist())
    support = noise_support(problem, shape)
    values, moved = (
        prices @ jacobian(problem, first),
        prices @ jacobian(problem, second),
    )
    found = []
    for j in agents:
        mine = agent(problem, j)
        for c in range(mine.start, mine.stop):
            if values[c] == moved[c]:
                continue
            noise = scales.b[j] * prices[support[:, c]]
            noise = noise[noise > 0.0]
            if noise.size == 0:
                must = f"positive in 'b' for agent {j}, whose message differs"
                check.fail("scales", where, must, scales.b.tolist())
            found.append(MessageEntry(j, float(values[c]), float(moved[c]), noise))
    return found


def binned_laws(
    entry: MessageEntry, *, bins: int = 200, reach: float | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the laws of a message entry over intervals, as log probabilities.

    Merging outcomes is post-processing, so a divergence of the binned laws (with
    `dplib.privacy.divergence`) is a lower bound on that of the message.

    Parameters
    ----------
    entry : MessageEntry
        The entry.
    bins : int
        Number of intervals, 4 or more; the two outer ones are unbounded.
    reach : float, optional
        Where they begin: so many largest scales beyond the two values. By
        default 12, or 0 for a single Laplace variable: beyond the two values
        its loss is constant, and merging there loses nothing.

    Returns
    -------
    log_p, log_q : numpy.ndarray, shape (bins,)
        Under the first and the second datum.

    Examples
    --------
    >>> entry = MessageEntry(0, 0.0, 1.0, np.array([1.0]))
    >>> log_p, log_q = binned_laws(entry)
    >>> print((log_p - log_q).max().round(9))
    1.0
    """
    check.instance("entry", entry, "binned_laws", MessageEntry)
    bins = check.integer("bins", bins, "binned_laws", low=4, high=10**6)
    if reach is None:
        reach = 0.0 if entry.scales.size == 1 else 12.0
    reach = check.nonnegative("reach", reach, "binned_laws")
    if reach > MAX_REACH:
        check.fail("reach", "binned_laws", f"at most {MAX_REACH:g}", reach)
    ends = np.sort([entry.value, entry.adjacent])
    beyond = reach * entry.scales.max()
    edges = np.linspace(ends[0] - beyond, ends[1] + beyond, bins - 1)

    def law(centre: float) -> FloatArray:
        above = np.asarray(laplace_sum_survival(edges - centre, scales=entry.scales))
        below = np.asarray(laplace_sum_survival(centre - edges, scales=entry.scales))
        # Differences of the smaller tails keep their digits.
        inner = np.where(
            edges[:-1] >= centre, above[:-1] - above[1:], below[1:] - below[:-1]
        )
        masses = np.concatenate([below[:1], inner, above[-1:]])
        with np.errstate(divide="ignore"):  # an interval that nothing falls into
            return np.asarray(np.log(masses / masses.sum()))

    return law(entry.value), law(entry.adjacent)


def messages_delta(
    entries: Sequence[MessageEntry], *, epsilon: float, bins: int = 150
) -> float:
    """Return a lower bound on delta(epsilon) of several independent entries.

    The hockey-stick divergence of the product of the binned laws; ``bins`` to
    the power of the number of entries outcomes are enumerated.

    Parameters
    ----------
    entries : sequence of MessageEntry
        One to three.
    epsilon : float
        Where to evaluate, 0 or greater.
    bins : int
        As in `binned_laws`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> one = MessageEntry(0, 0.0, 3.0, np.array([1.0]))
    >>> exact = 1 - np.exp((1.0 - 3.0) / 2)
    >>> bool(exact - 1e-3 < messages_delta([one], epsilon=1.0) <= exact)
    True
    """
    where = "messages_delta"
    if not isinstance(entries, Sequence):
        must = "a sequence of one to three entries"
        check.fail("entries", where, must, entries, TypeError)
    if not 1 <= len(entries) <= 3:
        check.fail("entries", where, "a sequence of one to three entries", entries)
    for entry in entries:
        check.instance("entries", entry, where, MessageEntry)
    epsilon = check.nonnegative("epsilon", epsilon, where)
    bins = check.integer("bins", bins, where, low=4)
    if bins ** len(entries) > MAX_OUTCOMES:
        must = f"at most {MAX_OUTCOMES} to the power of 1 / {len(entries)} entries"
        check.fail("bins", where, must, bins)
    log_p, log_q = np.zeros(1), np.zeros(1)
    for entry in entries:
        p, q = binned_laws(entry, bins=bins)
        log_p = np.add.outer(log_p, p).ravel()
        log_q = np.add.outer(log_q, q).ravel()
    return float(hockey_stick(log_p=log_p, log_q=log_q, epsilon=epsilon))
