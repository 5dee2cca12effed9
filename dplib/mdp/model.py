r"""A Markov decision process without its rewards, and one Bellman backup.

Benvenuti et al., Section 2.1 (Definition 1).

Model. States :math:`s = 0..n-1`, actions :math:`a = 0..m-1`, transition probabilities
:math:`T(s, a, s')`, discount :math:`\gamma` with :math:`0 < \gamma < 1`. Rewards are an
array of shape (n, m) that is handed over beside the model. A team's *factored* model
(`dplib.mdp.factored`) is another `Model`; whatever takes a `Model` takes both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.mdp.kernel import Rows, sparse_rows

__all__ = ["MDP", "Model", "backup", "discount_factor", "transition_law"]

FloatArray = NDArray[np.float64]

#: How far from 1 a row of transition probabilities may sum, before it is refused.
ROW_SUM = 1e-9


class Model:
    """What solvers need of a Markov decision process; `MDP` and `FactoredMDP` are one.

    Attributes
    ----------
    transitions : numpy.ndarray, shape (n, m, n), or tuple of them
        Transition probabilities, of all or of each independently moving part. Joint
        states and actions count in C order: part 0 slowest.
    discount : float
        Discount factor, strictly between 0 and 1.
    """

    transitions: FloatArray | tuple[FloatArray, ...]
    discount: float

    @property
    def factors(self) -> tuple[FloatArray, ...]:
        """Transitions of the parts; one part, if there is no more structure."""
        whole = self.transitions
        return whole if isinstance(whole, tuple) else (whole,)

    @property
    def n_states(self) -> int:
        """Number n of (joint) states."""
        return math.prod(factor.shape[0] for factor in self.factors)

    @property
    def n_actions(self) -> int:
        """Number m of (joint) actions."""
        return math.prod(factor.shape[1] for factor in self.factors)

    @cached_property
    def rows(self) -> Rows:
        """The transitions as the compiled loops read them: what is not zero."""
        return sparse_rows(self.factors)

    def expected(self, values: FloatArray) -> FloatArray:
        """Return the mean of `values` after each (s, a), an array of shape (n, m)."""
        # Each step contracts the next part's s'_i and appends (s_i, a_i) at the end.
        result = values.reshape([law.shape[0] for law in self.factors])
        for law in self.factors:
            result = np.tensordot(result, law, axes=([0], [2]))
        N = len(self.factors)
        order = [2 * i for i in range(N)] + [2 * i + 1 for i in range(N)]
        return result.transpose(order).reshape(self.n_states, self.n_actions)


@dataclass(frozen=True, eq=False)
class MDP(Model):
    """A Markov decision process given by one array of transition probabilities.

    Parameters
    ----------
    transitions : numpy.ndarray, shape (n, m, n)
        Probability of s' after action a in state s, at ``[s, a, s']``. Each row must
        sum to 1 within 1e-9, and is divided by its sum.
    discount : float
        Discount factor, strictly between 0 and 1.

    Examples
    --------
    >>> model = MDP([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]], 0.9)
    >>> model.n_states, model.n_actions
    (2, 2)
    >>> MDP([[[0.5]]], 0.9)
    Traceback (most recent call last):
    ...
    ValueError: The 'transitions' parameter of MDP must be probabilities that sum to 1 \
for every state and action. Got a sum of 0.5 in state 0, action 0 instead.
    """

    transitions: FloatArray
    discount: float

    def __post_init__(self) -> None:
        law = transition_law(self.transitions, "MDP")
        object.__setattr__(self, "transitions", law)
        object.__setattr__(self, "discount", discount_factor(self.discount, "MDP"))

    def expected(self, values: FloatArray) -> FloatArray:
        """Return the mean of `values` after each (s, a), an array of shape (n, m)."""
        return np.asarray(self.transitions @ values)


def transition_law(value: ArrayLike, where: str, part: str = "") -> FloatArray:
    """Return transition probabilities (n, m, n), checked row by row, read-only.

    The first bad row is named by state and action, after `part` ("agent 1, ").
    """
    law = check.array("transitions", value, where, shape=(None, None, None))
    if law.shape[0] != law.shape[2] or law.size == 0:
        check.fail("transitions", where, "an array of shape (n, m, n)", law.shape)
    sums = law.sum(axis=2)
    bad = np.argwhere((np.abs(sums - 1.0) > ROW_SUM) | np.any(law < 0.0, axis=2))
    if bad.size:
        s, a = (int(one) for one in bad[0])
        least = float(law[s, a].min())
        got = f"{least:g}" if least < 0.0 else f"a sum of {sums[s, a]:.12g}"
        raise ValueError(
            f"The 'transitions' parameter of {where} must be probabilities that sum "
            f"to 1 for every state and action. Got {got} in {part}state {s}, action "
            f"{a} instead."
        )
    result = np.asarray(law / sums[:, :, None])
    result.flags.writeable = False
    return result


def discount_factor(value: float, where: str) -> float:
    """Return a discount, checked to lie strictly between 0 and 1."""
    discount = check.finite("discount", value, where)
    if not 0.0 < discount < 1.0:
        check.fail("discount", where, "a float strictly between 0 and 1", value)
    return discount


def backup(model: Model, rewards: ArrayLike, values: ArrayLike) -> FloatArray:
    r"""Return the action values of one backup, shape (n, m).

    They are :math:`q(s, a) = r(s, a) + \gamma \sum_{s'} T(s, a, s') v(s')`, with
    `rewards` r of shape (n, m) and `values` v of shape (n,), from the next step on.

    Examples
    --------
    >>> model = MDP([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]], 0.5)
    >>> backup(model, [[0, 1], [2, 3]], [0, 4])
    array([[0., 2.],
           [4., 5.]])
    """
    after = model.expected(np.asarray(values, dtype=float))
    return np.asarray(np.asarray(rewards) + model.discount * after)
