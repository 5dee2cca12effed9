r"""A reader's own process: Gymnasium's tabular ``P``, or plain arrays.

Model. Gymnasium's small environments hold a dictionary: ``P[s][a]`` is a list of
``(probability, next state, reward, terminated)``. Here rewards do not belong to the
model and depend on (s, a) alone, so they become means:
:math:`r(s, a) = \sum_{s'} T(s, a, s') \, r(s, a, s')`, which leaves all values as they
are. Nothing is earned after termination: such outcomes lead to one state more, the last
one, in which every action stays and pays 0. Gymnasium itself is not needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.mdp.model import MDP, ROW_SUM, transition_law

__all__ = ["from_arrays", "from_tabular"]

FloatArray = NDArray[np.float64]


def from_tabular(
    P: Mapping[int, Mapping[int, Sequence[Any]]], discount: float
) -> tuple[MDP, FloatArray]:
    """Return the model and the rewards that Gymnasium's ``P`` describes.

    Parameters
    ----------
    P : mapping
        ``P[s][a]`` lists the outcomes of action a in state s, each as (probability,
        next state, reward, terminated). States and actions are 0, 1, 2 and so on,
        with the same actions in every state. Probabilities must sum to 1 within 1e-9,
        and are divided by their sum. The attribute ``env.unwrapped.P`` of FrozenLake,
        Taxi or CliffWalking.
    discount : float
        Discount factor, strictly between 0 and 1.

    Returns
    -------
    model : MDP
        With one state more than P if an outcome terminates.
    rewards : numpy.ndarray, shape (n, m)
        Mean rewards.

    Raises
    ------
    TypeError, ValueError
        If P is not as above; what is wrong is named by state and action.

    Examples
    --------
    >>> P = {0: {0: [(0.5, 0, 1.0, False), (0.5, 0, 3.0, True)]}}
    >>> model, rewards = from_tabular(P, 0.9)
    >>> rewards.tolist(), model.transitions.tolist()
    ([[2.0], [0.0]], [[[0.5, 0.5]], [[0.0, 1.0]]])
    >>> from_tabular({0: {0: [(0.5, 0, 1.0, False)]}}, 0.9)
    Traceback (most recent call last):
    ...
    ValueError: The 'P' parameter of from_tabular must be probabilities that sum to 1 \
for every state and action. Got a sum of 0.5 in state 0, action 0 instead.
    """
    where = "from_tabular"
    discount = check.unit_interval("discount", discount, where)
    n, m = _shape(P, where)
    law, rewards = np.zeros((n + 1, m, n + 1)), np.zeros((n + 1, m))
    ends = False
    for s in range(n):
        for a in range(m):
            outcomes = P[s][a]
            if not isinstance(outcomes, Sequence) or len(outcomes) == 0:
                _refuse(where, "are a list of at least one", s, a, outcomes)
            for outcome in outcomes:
                p, t, r, over = _outcome(outcome, n, s, a, where)
                law[s, a, n if over else t] += p
                rewards[s, a] += p * r
                ends = ends or over
            total = law[s, a].sum()
            if abs(total - 1.0) > ROW_SUM:
                got = f"a sum of {total:.12g} in state {s}, action {a}"
                raise ValueError(
                    f"The 'P' parameter of {where} must be probabilities that sum to 1 "
                    f"for every state and action. Got {got} instead."
                )
            rewards[s, a] /= total  # a mean under the law that the model holds
    law[n, :, n] = 1.0
    if not ends:
        law, rewards = law[:n, :, :n], rewards[:n]
    rewards = rewards.copy()
    rewards.flags.writeable = False
    return MDP(law, discount), rewards


def from_arrays(
    transitions: ArrayLike, rewards: ArrayLike, discount: float
) -> tuple[MDP, FloatArray]:
    """Return the model and the rewards that plain arrays describe.

    Parameters
    ----------
    transitions : array_like, shape (n, m, n)
        Probability of s' after action a in state s, at ``[s, a, s']``.
    rewards : array_like, shape (n, m) or (n, m, n)
        Reward for (s, a); or for (s, a, s'), of which the mean is taken.
    discount : float
        Discount factor, strictly between 0 and 1.

    Returns
    -------
    model : MDP
    rewards : numpy.ndarray, shape (n, m)

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> model, rewards = from_arrays([[[1.0]]], [[[3.0]]], 0.5)
    >>> rewards
    array([[3.]])
    """
    where = "from_arrays"
    discount = check.unit_interval("discount", discount, where)
    law = check.array("transitions", transitions, where, shape=(None,) * 3)
    transition_law("transitions", law, where)  # refused here, under this name
    model = MDP(law, discount)
    n, m = model.n_states, model.n_actions
    must = f"an array of shape ({n}, {m}) or ({n}, {m}, {n})"
    if check.entries("rewards", rewards, where, must).ndim != 3:
        return model, check.array("rewards", rewards, where, shape=(n, m))
    each = check.array("rewards", rewards, where, shape=(n, m, n))
    mean = np.asarray((model.transitions * each).sum(axis=2))
    mean.flags.writeable = False
    return model, mean


def _shape(P: object, where: str) -> tuple[int, int]:
    """Return the numbers of states and actions of P, checked to be 0, 1, 2..."""
    must = "a mapping of states 0, 1, 2, ... to mappings of actions 0, 1, 2, ..."
    if not isinstance(P, Mapping):
        check.fail("P", where, must, P, TypeError)
    if len(P) == 0 or set(P) != set(range(len(P))):
        check.fail("P", where, must, list(P))
    if not isinstance(P[0], Mapping) or len(P[0]) == 0:
        check.fail("P", where, must, P[0])
    m = len(P[0])
    for s in range(len(P)):
        if not isinstance(P[s], Mapping) or set(P[s]) != set(range(m)):
            got = list(P[s]) if isinstance(P[s], Mapping) else P[s]
            must = f"a mapping with the actions 0 to {m - 1} of state 0 in state {s}"
            check.fail("P", where, must, got)
    return len(P), m


def _outcome(
    outcome: Any, n: int, s: int, a: int, where: str
) -> tuple[float, int, float, bool]:
    """Return (probability, next state, reward, terminated), checked."""
    if not isinstance(outcome, Sequence) or len(outcome) != 4:
        must = "are (probability, next state, reward, terminated)"
        _refuse(where, must, s, a, outcome)
    p, t, r, over = outcome
    weight, reward = _number(p), _number(r)
    if not 0.0 <= weight <= 1.0:
        _refuse(where, "have probabilities between 0 and 1", s, a, p)
    whole = isinstance(t, (int, np.integer)) and not isinstance(t, bool)
    if not whole or not 0 <= t < n:
        _refuse(where, f"have next states from 0 to {n - 1}", s, a, t)
    if not abs(reward) <= check.LARGEST:
        must = f"have finite rewards of size at most {check.LARGEST:g}"
        _refuse(where, must, s, a, r)
    if not isinstance(over, (bool, np.bool_)):
        _refuse(where, "have a truth value for termination", s, a, over)
    return weight, int(t), reward, bool(over)


def _number(value: object) -> float:
    """Return a finite float; nan for whatever is none, so that comparisons fail."""
    try:
        return check.finite("P", value, "from_tabular")
    except (TypeError, ValueError):
        return math.nan


def _refuse(where: str, must: str, s: int, a: int, got: object) -> NoReturn:
    rule = f"a mapping whose outcomes of action {a} in state {s} {must}"
    check.fail("P", where, rule, got)
