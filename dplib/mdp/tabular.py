r"""A reader's own process, in the form of Gymnasium's tabular ``P``.

Model. Gymnasium's small environments hold a dictionary: ``P[s][a]`` is a list of
``(probability, next state, reward, terminated)``. Here rewards do not belong to the
model and depend on (s, a) alone, so they become means:
:math:`r(s, a) = \sum_{s'} T(s, a, s') \, r(s, a, s')`, which leaves all values as they
are. Nothing is earned after termination: such outcomes lead to one state more, the last
one, in which every action stays and pays 0. Gymnasium itself is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.mdp.model import MDP

__all__ = ["from_tabular"]

FloatArray = NDArray[np.float64]


def from_tabular(
    P: Mapping[int, Mapping[int, Sequence[Any]]], discount: float
) -> tuple[MDP, FloatArray]:
    """Return the model and the rewards (n, m) that Gymnasium's ``P`` describes.

    Parameters
    ----------
    P : mapping
        ``P[s][a]`` lists the outcomes of action a in state s, each as (probability,
        next state, reward, terminated). States and actions are 0, 1, 2 and so on,
        with the same actions in every state. The attribute ``env.unwrapped.P`` of
        FrozenLake, Taxi or CliffWalking.
    discount : float
        Discount factor, strictly between 0 and 1.

    Returns
    -------
    model : MDP
        With one state more than P if an outcome terminates.
    rewards : numpy.ndarray, shape (n, m)
        Mean rewards.

    Examples
    --------
    >>> P = {0: {0: [(0.5, 0, 1.0, False), (0.5, 0, 3.0, True)]}}
    >>> model, rewards = from_tabular(P, 0.9)
    >>> rewards.tolist(), model.transitions.tolist()
    ([[2.0], [0.0]], [[[0.5, 0.5]], [[0.0, 1.0]]])
    """
    n, m = len(P), len(P[0]) if 0 in P else 0
    if m == 0 or any(s not in P or set(P[s]) != set(range(m)) for s in range(n)):
        must = "a mapping of states 0, 1, 2, ... to mappings of the same actions 0, 1, "
        must += "2, ..."
        check.fail("P", "from_tabular", must, P)
    law, rewards = np.zeros((n + 1, m, n + 1)), np.zeros((n + 1, m))
    ends = False
    for s in range(n):
        for a in range(m):
            for outcome in P[s][a]:
                p, t, r, over = _outcome(outcome, n, s, a)
                law[s, a, n if over else t] += p
                rewards[s, a] += p * r
                ends = ends or over
    law[n, :, n] = 1.0
    if not ends:
        law, rewards = law[:n, :, :n], rewards[:n]
    model = MDP(law, discount)
    # Means under the distribution that the model holds, which sums to 1.
    return model, rewards / law.sum(axis=2)


def _outcome(outcome: Any, n: int, s: int, a: int) -> tuple[float, int, float, bool]:
    """Return (probability, next state, reward, terminated), checked."""
    try:
        p, t, r, over = outcome
        good = 0.0 <= p <= 1.0 and t in range(n) and abs(r) <= check.LARGEST
    except (TypeError, ValueError):
        good = False
    if not good:
        must = f"(probability, next state below {n}, finite reward, terminated) "
        must += f"for every outcome of action {a} in state {s}"
        check.fail("P", "from_tabular", must, outcome)
    return float(p), int(t), float(r), bool(over)
