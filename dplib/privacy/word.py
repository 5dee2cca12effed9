r"""The online mechanism: a private word beside the true one, state by state.

Chen et al., Section 4.1 (Definition 3, Algorithm 1); Chen, Leahy, Jones and Hale,
Automatica 152 (2023).

Model. An agent moves through states :math:`s_1, s_2, \dots` and sends a private state
:math:`z_t` at each step. The feasible set of a state y holds all states that some
action can lead to from y; its size is the out-degree :math:`\rho(y)`. After the last
private state y, the next one is drawn from the feasible set of y alone:

- the true state s, if it is in the set, with probability :math:`\tau(y)`; the others
  share the rest equally;
- if s is not in the set, all :math:`\rho(y)` states are equally likely.

So a private word is always one that the agent could have gone. Words are adjacent if
at most k states differ (Hamming distance), and Theorem 1 promises
:math:`\varepsilon` for the whole word with

.. math:: \tau(y) = \frac{1}{(\rho(y) - 1) e^{-\varepsilon / k} + 1} .
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check

__all__ = [
    "OnlineMechanism",
    "feasible_states",
    "online_mechanism",
    "true_probability",
    "word_distribution",
    "word_loss",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Largest epsilon / k: the shares of the other states, e^-700 and up, are floats.
LARGEST = 700.0


@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineMechanism:
    """Algorithm 1: how the next private state is drawn.

    Parameters
    ----------
    feasible : numpy.ndarray of bool, shape (n, n)
        At ``[y, z]``: whether z can follow y. No row is empty.
    tau : numpy.ndarray, shape (n,)
        Probability of the true state after the private state y, if it can follow y.
    other : numpy.ndarray, shape (n,), optional
        Probability of each other state then; tau e^(-epsilon/k) by Theorem 1. Without
        it they share 1 - tau, of which few digits are left where tau is close to 1.

    Examples
    --------
    Three states, all of which can follow each other; the true one with probability 1/2.

    >>> every = np.ones((3, 3), dtype=bool)
    >>> OnlineMechanism(feasible=every, tau=np.full(3, 0.5)).law[0, 1]
    array([0.5 , 0.25, 0.25])
    """

    feasible: BoolArray
    tau: FloatArray
    other: FloatArray | None = None

    def __post_init__(self) -> None:
        where = "OnlineMechanism"
        can = np.array(self.feasible, dtype=bool)
        if can.ndim != 2 or len(can) != len(can.T) or not can.any(axis=1).all():
            must = "a square array, with a state that can follow in every row"
            check.fail("feasible", where, must, self.feasible)
        object.__setattr__(self, "feasible", can)
        tau = check.array("tau", self.tau, where, shape=(len(can),))
        if np.any((tau < 0.0) | (tau > 1.0)):
            check.fail("tau", where, "probabilities between 0 and 1", tau)
        object.__setattr__(self, "tau", tau)
        if self.other is not None:
            other = check.array("other", self.other, where, shape=tau.shape)
            off = np.abs(tau + (self.out_degree - 1.0) * other - 1.0)
            if np.any(other < 0.0) or np.any(off[self.out_degree > 1] > 1e-9):
                check.fail("other", where, "shares that sum to 1 with tau", other)
            object.__setattr__(self, "other", other)

    @property
    def out_degree(self) -> NDArray[np.int64]:
        """Number of states that can follow each state, shape (n,)."""
        return np.asarray(np.count_nonzero(self.feasible, axis=1), dtype=np.int64)

    @cached_property
    def law(self) -> FloatArray:
        """Probability of private state z, at ``[true, last private, z]``."""
        can, rho = self.feasible.T, self.out_degree  # [s, y]: can s follow y?
        plain = (1.0 - self.tau) / np.maximum(rho - 1.0, 1.0)
        other = plain if self.other is None else self.other
        share = np.where(can, other, 1.0 / rho)  # [s, y]: of all states but s
        result = share[:, :, None] * self.feasible
        s, y = np.nonzero(can)
        result[s, y, s] = np.where(rho[y] > 1, self.tau[y], 1.0)
        return np.asarray(result)


def feasible_states(transitions: ArrayLike) -> BoolArray:
    """Return at ``[y, z]`` whether some action leads from y to z, shape (n, n).

    Examples
    --------
    >>> feasible_states([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    array([[ True,  True],
           [False,  True]])
    """
    where = "feasible_states"
    law = check.array("transitions", transitions, where, shape=(None,) * 3)
    if law.shape[0] != law.shape[2] or law.size == 0:
        check.fail("transitions", where, "an array of shape (n, m, n)", law.shape)
    sums = law.sum(axis=2)
    if np.any(law < 0.0) or np.abs(sums - 1.0).max() > 1e-9:
        must = "probabilities that sum to 1 for every state and action"
        check.fail("transitions", where, must, law.tolist())
    return np.asarray(np.any(law > 0.0, axis=1))


def true_probability(out_degree: ArrayLike, *, epsilon: float, k: int) -> FloatArray:
    """Return tau of Theorem 1 for each out-degree: 1 / ((rho - 1) e^(-epsilon/k) + 1).

    Examples
    --------
    >>> true_probability([1, 2, 3], epsilon=0.0, k=1)
    array([1.        , 0.5       , 0.33333333])
    """
    odds = _odds(epsilon, k, "true_probability")
    rho = np.asarray(out_degree, dtype=float)
    if np.any(rho < 1.0):
        check.fail("out_degree", "true_probability", "1 or greater", out_degree)
    return np.asarray(1.0 / ((rho - 1.0) * odds + 1.0))


def _odds(epsilon: float, k: int, where: str) -> float:
    """Return e^(-epsilon/k): how likely another state is, by the true one's measure."""
    epsilon = check.nonnegative("epsilon", epsilon, where)
    k = check.integer("k", k, where, low=1, high=10**9)
    if epsilon / k > LARGEST:
        must = f"at most {LARGEST:g} k: no float holds much less than e^-{LARGEST:g}"
        check.fail("epsilon", where, must, epsilon)
    return math.exp(-epsilon / k)


def online_mechanism(
    transitions: ArrayLike, *, epsilon: float, k: int
) -> OnlineMechanism:
    """Return the mechanism that is epsilon-private for words that differ in k states.

    Parameters
    ----------
    transitions : array_like, shape (n, m, n)
        The agent's own dynamics; only what is possible matters.
    epsilon : float
        Privacy of the whole word, from 0 to 700 k; unit: the agent's states at all
        times, of which at most k differ, while the others' words are equal.
    k : int
        Radius of adjacency, 1 or more.

    Examples
    --------
    >>> stay_or_go = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
    >>> online_mechanism(stay_or_go, epsilon=np.log(3), k=1).law[0, 1]
    array([0.75, 0.25])
    """
    odds = _odds(epsilon, k, "online_mechanism")
    feasible = feasible_states(transitions)
    tau = true_probability(feasible.sum(axis=1), epsilon=epsilon, k=k)
    return OnlineMechanism(feasible=feasible, tau=tau, other=odds * tau)


def word_distribution(
    mechanism: OnlineMechanism, word: Sequence[int], *, start: int
) -> FloatArray:
    """Return the log probabilities of all private words, shape (n,) * T.

    Parameters
    ----------
    mechanism : OnlineMechanism
        How each private state is drawn.
    word : sequence of int
        The true states s_1, ..., s_T.
    start : int
        The private state before the first one; it is public.

    Examples
    --------
    >>> every = np.ones((2, 2), dtype=bool)
    >>> fair = OnlineMechanism(feasible=every, tau=np.array([0.75, 0.75]))
    >>> np.exp(word_distribution(fair, [0, 1], start=0)).round(4)
    array([[0.1875, 0.5625],
           [0.0625, 0.1875]])
    """
    where, last = "word_distribution", len(mechanism.feasible) - 1
    start = check.integer("start", start, where, low=0, high=last)
    word = [check.integer("word", s, where, low=0, high=last) for s in word]
    if not word:
        check.fail("word", where, "one or more states", word)
    with np.errstate(divide="ignore"):
        log_law = np.log(mechanism.law)
    result = log_law[word[0], start]
    for s in word[1:]:
        result = result[..., None] + log_law[s]
    return np.asarray(result)


def word_loss(
    mechanism: OnlineMechanism,
    *,
    start: int,
    length: int,
    substitutions: int,
    words: BoolArray | None = None,
) -> float:
    """Return the largest privacy loss over all pairs of adjacent words, exactly.

    The loss of a private word is the sum of its steps' losses, and a step without a
    substitution has none. So the largest loss is found backwards in time, over the
    triples (true state of one word, of the other, last private state) and the number
    of substitutions that are left, without listing words.

    Parameters
    ----------
    mechanism : OnlineMechanism
        How each private state is drawn.
    start : int
        The private state before the first one, and the state before both words.
    length : int
        T, number of states in a word.
    substitutions : int
        Largest number of states that differ.
    words : numpy.ndarray of bool, shape (n, n), optional
        At ``[y, s]``: whether s can follow y in a true word. Without it, any can.

    Examples
    --------
    One substitution costs epsilon if the mechanism is made for k = 1:

    >>> ring = np.roll(np.eye(3), 1, axis=1) + np.eye(3)  # stay or go on
    >>> loss = word_loss(online_mechanism(ring[:, None] / 2, epsilon=0.5, k=1),
    ...                  start=0, length=4, substitutions=1)
    >>> print(round(loss, 12))
    0.5
    """
    n, where = len(mechanism.feasible), "word_loss"
    start = check.integer("start", start, where, low=0, high=n - 1)
    length = check.integer("length", length, where, low=1)
    substitutions = check.integer("substitutions", substitutions, where, low=0)
    allowed = np.ones((n, n), dtype=bool) if words is None else words
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = np.log(mechanism.law)[:, None], np.log(mechanism.law)[None, :]
        # One step's loss at [v, w, y, z]; what v never says counts -inf.
        step = np.where(first > -np.inf, first - second, -np.inf)
    same = np.eye(n, dtype=bool)[:, :, None, None]
    follow, also = allowed[:, :, None, None], allowed[:, :, None]
    left = [np.zeros((n, n, n))] * (substitutions + 1)  # at [v, w, z], to the end
    for _ in range(length):
        ahead = []
        for j in range(substitutions + 1):
            spent = left[j - 1][:, :, None] if j else np.array(-np.inf)
            with np.errstate(invalid="ignore"):  # inf - inf: not possible
                onward = step + np.where(same, left[j][:, :, None], spent)
            best = np.fmax.reduce(onward, axis=3, initial=-np.inf)  # at [v', w', y]
            best = np.where(follow, best, -np.inf).max(axis=1)  # v, w', y
            ahead.append(np.where(also, best[:, None], -np.inf).max(axis=2))
        left = ahead
    return float(left[substitutions][start, start, start])
