r"""A Markov decision process without its rewards, and one Bellman backup.

Benvenuti et al., Section 2.1 (Definition 1).

Model. States :math:`s = 0..n-1`, actions :math:`a = 0..m-1`, transition probabilities
:math:`T(s, a, s')`, discount :math:`\gamma` with :math:`0 < \gamma < 1`. Rewards are an
array of shape (n, m) that is handed over beside the model: privacy changes rewards, and
never the dynamics. A team's *factored* model (`dplib.mdp.factored`) is another `Model`;
whatever takes a `Model` takes both.

The backup of values v under rewards r is

.. math:: q(s, a) = r(s, a) + \gamma \sum_{s'} T(s, a, s') \, v(s') .
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.mdp.kernel import Rows, sparse_rows

__all__ = ["MDP", "Model", "action_values", "backup", "transition_law"]

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

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above; a bad row is named by state and action.

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
        law = transition_law("transitions", self.transitions, "MDP")
        object.__setattr__(self, "transitions", law)
        gamma = check.unit_interval("discount", self.discount, "MDP")
        object.__setattr__(self, "discount", gamma)

    def expected(self, values: FloatArray) -> FloatArray:
        """Return the mean of `values` after each (s, a), an array of shape (n, m)."""
        return np.asarray(self.transitions @ values)


def transition_law(
    name: str, value: ArrayLike, where: str, *, part: str = ""
) -> FloatArray:
    """Return transition probabilities, checked row by row, as a read-only array.

    Parameters
    ----------
    name, where : str
        The argument and the function it belongs to.
    value : array_like, shape (n, m, n)
        Probabilities; each row must sum to 1 within 1e-9, and is divided by its sum.
    part : str
        Words that go before the state in a message, for instance "agent 1, ".

    Raises
    ------
    TypeError, ValueError
        If it is not that; the first bad row is named by state and action.

    Examples
    --------
    >>> transition_law("T", [[[1.0, 0.0]], [[0.5, 0.25]]], "f")
    Traceback (most recent call last):
    ...
    ValueError: The 'T' parameter of f must be probabilities that sum to 1 for every \
state and action. Got a sum of 0.75 in state 1, action 0 instead.
    """
    law = check.array(name, value, where, shape=(None, None, None))
    if law.shape[0] != law.shape[2] or law.size == 0:
        raise ValueError(
            f"The '{name}' parameter of {where} must be an array of shape (n, m, n) "
            f"with n, m >= 1. Got an array of shape {law.shape} instead."
        )
    rule = "probabilities that sum to 1 for every state and action"
    bad = np.argwhere(law < 0.0)
    if bad.size:
        s, a, t = (int(one) for one in bad[0])
        got = f"{law[s, a, t]:g} for state {t} after {part}state {s}, action {a}"
        raise ValueError(
            f"The '{name}' parameter of {where} must be {rule}. Got {got} instead."
        )
    sums = law.sum(axis=2)
    bad = np.argwhere(np.abs(sums - 1.0) > ROW_SUM)
    if bad.size:
        s, a = (int(one) for one in bad[0])
        got = f"a sum of {sums[s, a]:.12g} in {part}state {s}, action {a}"
        raise ValueError(
            f"The '{name}' parameter of {where} must be {rule}. Got {got} instead."
        )
    result = np.asarray(law / sums[:, :, None])
    result.flags.writeable = False
    return result


def action_values(
    model: Model, rewards: ArrayLike, where: str, *, name: str = "rewards"
) -> FloatArray:
    """Return `rewards`, checked to be one finite number for every (s, a) of a model.

    Examples
    --------
    >>> action_values(MDP([[[1.0]]], 0.9), [[2]], "f")
    array([[2.]])
    """
    check.instance("model", model, where, Model)
    shape = (model.n_states, model.n_actions)
    return check.array(name, rewards, where, shape=shape)


def backup(model: Model, rewards: ArrayLike, values: ArrayLike) -> FloatArray:
    r"""Return the action values q of one backup.

    Parameters
    ----------
    model : Model
        The dynamics.
    rewards : array_like, shape (n, m)
        Reward for each state and action.
    values : array_like, shape (n,)
        Values of the states from the next step on.

    Returns
    -------
    numpy.ndarray, shape (n, m)
        :math:`r(s, a) + \gamma \sum_{s'} T(s, a, s') v(s')`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> model = MDP([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]], 0.5)
    >>> backup(model, [[0, 1], [2, 3]], [0, 4])
    array([[0., 2.],
           [4., 5.]])
    """
    r = action_values(model, rewards, "backup")
    v = check.array("values", values, "backup", shape=(model.n_states,))
    return np.asarray(r + model.discount * model.expected(v))
