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
    "private_word",
    "true_probability",
    "word_distribution",
    "word_loss",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Largest loss of one substitution whose probabilities are still floats.
LARGEST_LOSS = 700

#: Stands for an infinite loss of one step.
WITHOUT_BOUND = 1e290


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
        Probability of each other state that can follow y then: (1 - tau) / (rho - 1),
        which 1 - tau cannot give to all digits where tau is near 1.

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
        if not np.all((self.tau >= 0.0) & (self.tau <= 1.0)):
            must = "probabilities between 0 and 1"
            check.fail("tau", "OnlineMechanism", must, self.tau)

    @property
    def out_degree(self) -> NDArray[np.int64]:
        """Number of states that can follow each state, shape (n,)."""
        return np.asarray(np.count_nonzero(self.feasible, axis=1), dtype=np.int64)

    @cached_property
    def law(self) -> FloatArray:
        """Probability of private state z, at ``[true, last private, z]``."""
        rho, own = self.out_degree, self.feasible.T  # [s, y]: can s follow y?
        alone = rho == 1
        other = self.other
        if other is None:
            other = (1.0 - self.tau) / np.where(alone, 1.0, rho - 1.0)
        rest = np.where(own, other, 1.0 / rho)
        result = rest[:, :, None] * self.feasible[None]
        s, y = np.nonzero(own)
        result[s, y, s] = np.where(alone, 1.0, self.tau)[y]
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
    feasible = np.any(law > 0.0, axis=1)
    if law.shape[0] != law.shape[2] or not feasible.any(axis=1).all():
        must = "of shape (n, m, n), with a successor of every state"
        check.fail("transitions", where, must, law.shape)
    return np.asarray(feasible)


def true_probability(out_degree: ArrayLike, *, epsilon: float, k: int) -> FloatArray:
    """Return tau of Theorem 1 for each out-degree: 1 / ((rho - 1) e^(-epsilon/k) + 1).

    Examples
    --------
    >>> true_probability([1, 2, 3], epsilon=0.0, k=1)
    array([1.        , 0.5       , 0.33333333])
    """
    epsilon = check.nonnegative("epsilon", epsilon, "true_probability")
    k = check.integer("k", k, "true_probability", low=1)
    rho = np.asarray(out_degree, dtype=float)
    return np.asarray(1.0 / ((rho - 1.0) * np.exp(-epsilon / k) + 1.0))


def online_mechanism(
    transitions: ArrayLike, *, epsilon: float, k: int
) -> OnlineMechanism:
    """Return the mechanism that is epsilon-private for words that differ in k states.

    Parameters
    ----------
    transitions : array_like, shape (n, m, n)
        The agent's own dynamics; only what is possible matters.
    epsilon : float
        Privacy of the whole word, 0 or greater; unit: the agent's states at all times,
        of which at most k differ, while the others' words are equal.
    k : int
        Radius of adjacency, 1 or more.

    Examples
    --------
    >>> stay_or_go = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
    >>> online_mechanism(stay_or_go, epsilon=np.log(3), k=1).law[0, 1]
    array([0.75, 0.25])
    """
    feasible = feasible_states(transitions)
    tau = true_probability(feasible.sum(axis=1), epsilon=epsilon, k=k)
    if epsilon > LARGEST_LOSS * k:
        must = f"at most {LARGEST_LOSS} k, beyond which false words underflow"
        check.fail("epsilon", "online_mechanism", must, epsilon)
    other = tau * np.exp(-epsilon / k)
    return OnlineMechanism(feasible=feasible, tau=tau, other=other)


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
    n = len(mechanism.feasible)
    allowed = np.ones((n, n), dtype=bool) if words is None else words
    with np.errstate(divide="ignore"):
        log_law = np.log(mechanism.law)
    # One step's loss at [v, w, y, z]: -inf for what v cannot give, and without bound
    # (as a number: infinities of both signs would meet) for what only w cannot.
    first, second = log_law[:, None], log_law[None, :]
    can = np.isfinite(second)
    step = np.where(can, first - np.where(can, second, 0.0), WITHOUT_BOUND + first)
    follow = np.where(allowed, 0.0, -np.inf)
    same = np.eye(n, dtype=bool)[:, :, None, None]
    left = [np.zeros((n, n, n))] * (substitutions + 1)  # at [v, w, z], to the end
    for _ in range(length):
        ahead = []
        for j in range(substitutions + 1):
            spent = left[j - 1][:, :, None] if j else np.array(-np.inf)
            onward = step + np.where(same, left[j][:, :, None], spent)
            best = onward.max(axis=3)  # at [v', w', y]
            best = (follow[:, :, None, None] + best[None]).max(axis=1)  # v, w', y
            ahead.append((follow[:, :, None] + best[:, None]).max(axis=2))
        left = ahead
    loss = float(left[substitutions][start, start, start])
    return math.inf if loss > WITHOUT_BOUND / 2 else loss


def private_word(
    mechanism: OnlineMechanism,
    word: Sequence[int],
    *,
    start: int,
    rng: np.random.Generator,
) -> list[int]:
    """Return a private word, drawn state by state while the true one is lived.

    Examples
    --------
    >>> every = np.ones((2, 2), dtype=bool)
    >>> frank = OnlineMechanism(feasible=every, tau=np.ones(2))
    >>> private_word(frank, [1, 0, 0], start=0, rng=np.random.default_rng(1))
    [1, 0, 0]
    """
    result: list[int] = []
    for s in word:
        last = result[-1] if result else start
        result.append(
            int(rng.choice(len(mechanism.feasible), p=mechanism.law[s, last]))
        )
    return result
