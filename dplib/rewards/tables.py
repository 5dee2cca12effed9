r"""Reward tables, the map J from the agents' to the joint one, and its sensitivity.

Benvenuti et al., Sections 2.1, 2.2 and 3.1, and Appendix A.

Model. N agents are in one of n joint states s. Agent i has :math:`m_i` local actions
and the *table* :math:`r^i(s, a^i)`, an array of shape (n, m_i). With the joint action
:math:`a = (a^1, \dots, a^N)`, one of :math:`m = m_1 \cdots m_N`, the joint reward is

.. math:: r(s, a) = J(r^1, \dots, r^N)(s, a) = \frac1N \sum_i r^i(s, a^i) ,

an array of shape (n, m). Joint actions count in C order: agent 0 slowest, as in
`numpy.ravel_multi_index`. J acts on every state for itself. One entry of agent i's
table appears in :math:`\mu_i = \prod_{l \ne i} m_l` entries of r, each time over N.

Adjacency. Two data are adjacent if one entry of one agent's table differs, by at most
b (Definition 3 and Remark 5). That is what is protected: not a whole reward function.

Functions of tables allow leading axes: an array of shape (..., n, m_i) is a batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.privacy.adjacency import Adjacency

__all__ = [
    "action_counts",
    "adjacent",
    "appearances",
    "averaging_matrix",
    "entry_adjacency",
    "enumerated_sensitivity",
    "joint_reward",
    "joint_sensitivity",
    "paper_sensitivity",
    "reward_tables",
    "reward_vector",
]

FloatArray = NDArray[np.float64]

#: Most numbers in a matrix of `averaging_matrix` and its kin: 240 MB of them.
MOST_NUMBERS = 3 * 10**7

#: Most agents where every agent is an axis of an array: numpy has 64 axes.
MOST_AXES = 60


def action_counts(
    actions: Sequence[int], where: str = "action_counts"
) -> tuple[int, ...]:
    """Return the numbers of local actions m_i, checked; `where` names the caller.

    There may be up to 1e60 joint actions, for there are laws of noise in closed form.

    Examples
    --------
    >>> action_counts([2, 5])
    (2, 5)
    """
    must = "a sequence of at least one integer"
    if not isinstance(actions, Sequence) or isinstance(actions, str):
        check.fail("actions", where, must, actions, TypeError)
    if len(actions) == 0:
        check.fail("actions", where, must, actions)
    counts = tuple(check.integer("actions", one, where, low=1) for one in actions)
    if sum(math.log10(count) for count in counts) > math.log10(check.LARGEST):
        must = f"fewer: a team may have {check.LARGEST:g} joint actions"
        check.fail("actions", where, must, list(counts))
    return counts


def few_entries(
    actions: Sequence[int], *, width: int, n_states: int, samples: int, where: str
) -> None:
    """Refuse samples of noise too large for memory: `width` numbers in every state.

    The first argument that is too large by itself is named, not the last.

    Examples
    --------
    >>> few_entries([2], width=2, n_states=10**9, samples=1, where="f")
    Traceback (most recent call last):
    ...
    ValueError: The 'n_states' parameter of f must be fewer: at most 1000000000 entries
    at a time. Got 1000000000 instead.
    """
    for name, got, entries in (
        ("actions", list(actions), width),
        ("n_states", n_states, n_states * width),
        ("samples", samples, samples * n_states * width),
    ):
        if entries > 10**9:
            must = "fewer: at most 1000000000 entries at a time"
            check.fail(name, where, must, got)


def few_actions(
    actions: Sequence[int], where: str, *, columns: int, name: str = "actions"
) -> None:
    """Refuse teams too large for a matrix of `columns` numbers per joint action.

    Examples
    --------
    >>> few_actions([10] * 9, "f", columns=1)
    Traceback (most recent call last):
    ...
    ValueError: The 'actions' parameter of f must be for at most 60 agents, and for a
    matrix of at most 30000000 numbers. Got [10, 10, ..., 10] instead.
    """
    if len(actions) > MOST_AXES or math.prod(actions) * columns > MOST_NUMBERS:
        must = f"for at most {MOST_AXES} agents, and for a matrix of at most "
        check.fail(name, where, must + f"{MOST_NUMBERS} numbers", list(actions))


def reward_tables(
    tables: Sequence[ArrayLike], where: str = "reward_tables", *, batched: bool = True
) -> list[FloatArray]:
    """Return the agents' tables as arrays, checked to fit together.

    Parameters
    ----------
    tables : sequence of array_like
        Agent i's rewards, shape (..., n, m_i); all but the last axis agree.
    where : str
        The caller, named in error messages.
    batched : bool
        Whether leading axes are allowed.

    Returns
    -------
    list of numpy.ndarray

    Raises
    ------
    TypeError, ValueError
        If there is no table, or they are not finite and of shapes that fit.

    Examples
    --------
    >>> [table.shape for table in reward_tables([[[1, 2]], [[3, 4, 5]]])]
    [(1, 2), (1, 3)]
    """
    must = "a sequence of at least one table of rewards"
    if isinstance(tables, (str, np.ndarray)) or not isinstance(tables, Sequence):
        check.fail("tables", where, must, tables, TypeError)
    if len(tables) == 0:
        check.fail("tables", where, must, tables)
    arrays: list[FloatArray] = []
    for table in tables:
        axes = check.entries("tables", table, where, must).ndim
        if axes < 2 or (axes > 2 and not batched):
            check.fail("tables", where, "tables of shapes (n, m_i)", table)
        shape: tuple[int | None, ...] = (None,) * axes
        if arrays:
            shape = (*arrays[0].shape[:-1], None)
        arrays.append(check.array("tables", table, where, shape=shape))
        if arrays[-1].size == 0:
            check.fail("tables", where, "tables with at least one entry", table)
    return arrays


def joint_reward(tables: Sequence[ArrayLike]) -> FloatArray:
    """Return the joint reward J(tables), the mean of what the agents earn.

    Parameters
    ----------
    tables : sequence of array_like
        Agent i's rewards, shape (..., n, m_i); all but the last axis agree.

    Returns
    -------
    numpy.ndarray, shape (..., n, m)
        Joint rewards, joint actions in C order.

    Raises
    ------
    TypeError, ValueError
        If there is no table, or they are not finite and of shapes that fit.

    References
    ----------
    Benvenuti et al., Definition 2, equation 1 and Remark 2.

    Examples
    --------
    Agents with two actions and with three, in one state:

    >>> joint_reward([[[0.0, 6.0]], [[0.0, 2.0, 4.0]]])
    array([[0., 1., 2., 3., 4., 5.]])
    """
    arrays = reward_tables(tables, "joint_reward")
    total = arrays[0]
    for table in arrays[1:]:
        total = (total[..., :, None] + table[..., None, :]).reshape(
            *table.shape[:-1], total.shape[-1] * table.shape[-1]
        )
    return np.asarray(total / len(arrays))


def reward_vector(table: ArrayLike) -> FloatArray:
    """Return a table as the vector of equation 3: state by state, then by action.

    Parameters
    ----------
    table : array_like, shape (n, m_i)
        Rewards of one agent, or joint rewards.

    Returns
    -------
    numpy.ndarray, shape (n * m_i,)

    Examples
    --------
    >>> reward_vector([[1, 2], [3, 4]])
    array([1., 2., 3., 4.])
    """
    return check.array("table", table, "reward_vector", shape=(None, None)).ravel()


def adjacent(
    first: Sequence[ArrayLike], second: Sequence[ArrayLike], *, bound: float
) -> bool:
    """Say whether the teams' tables differ in exactly one entry, by at most `bound`.

    All agents' tables count as one vector (Remark 5). For one agent's table, hand
    over lists of one.

    Parameters
    ----------
    first, second : sequence of array_like
        Tables of shapes (n, m_i), the same shapes in both.
    bound : float
        The adjacency parameter b, positive.

    Returns
    -------
    bool
        False also if nothing differs: Definition 3 asks for one entry that does.

    Raises
    ------
    TypeError, ValueError
        If the two do not have the same shapes, or an argument is not as above.

    Examples
    --------
    >>> adjacent([[[0, 0]], [[1, 1]]], [[[0, 2]], [[1, 1]]], bound=2.0)
    True
    >>> adjacent([[[0, 0]], [[1, 1]]], [[[0, 2]], [[1, 2]]], bound=2.0)
    False
    """
    one, two = (reward_tables(x, "adjacent", batched=False) for x in (first, second))
    check.positive("bound", bound, "adjacent")
    if [table.shape for table in one] != [table.shape for table in two]:
        shapes = [table.shape for table in two]
        check.fail("second", "adjacent", "of the shapes of 'first'", shapes)
    gaps = np.concatenate(
        [np.abs(a - b).ravel() for a, b in zip(one, two, strict=True)]
    )
    return bool(np.count_nonzero(gaps) == 1 and gaps.max() <= bound)


def entry_adjacency(bound: float) -> Adjacency:
    """Return the adjacency of this chapter, with its unit of privacy in words.

    A 1-norm ball, which is a little more than Definition 3 asks for: several entries
    may differ if their changes add up to at most b. Nothing is lost by that. The
    shift that a change causes is a convex function of it, so it is largest at a
    corner of the ball, where one entry differs by b.

    Parameters
    ----------
    bound : float
        Adjacency parameter b, positive, in the unit of the rewards.

    Examples
    --------
    >>> entry_adjacency(2.0).norm, entry_adjacency(2.0).radius
    ('l1', 2.0)
    """
    return Adjacency(
        name="one reward",
        unit=(
            "one entry (joint state, local action) of one agent's reward table; all "
            "other entries, and all other agents' tables, are equal"
        ),
        norm="l1",
        radius=check.positive("bound", bound, "entry_adjacency"),
    )


def appearances(actions: Sequence[int]) -> tuple[int, ...]:
    r"""Return :math:`\mu_i`, the joint actions that hold one given action of agent i.

    Parameters
    ----------
    actions : sequence of int
        Numbers of local actions m_i, 1 or more.

    Returns
    -------
    tuple of int
        The products of the others' numbers. Their maximum is the paper's mu.

    Examples
    --------
    >>> appearances([2, 3, 5])
    (15, 10, 6)
    """
    counts = action_counts(actions, "appearances")
    product = math.prod(counts)
    return tuple(product // count for count in counts)


def joint_sensitivity(actions: Sequence[int], *, bound: float) -> float:
    r"""Return the 2-norm sensitivity of J, :math:`b \sqrt{\mu} / N`, exactly.

    One changed entry moves :math:`\mu_i` entries of the joint reward by b / N each;
    the Euclidean length of that is a square root.

    Parameters
    ----------
    actions : sequence of int
        Numbers of local actions m_i.
    bound : float
        Adjacency parameter b, positive.

    Returns
    -------
    float
        In the unit of the rewards.

    Examples
    --------
    >>> joint_sensitivity([4] * 5, bound=1.0)
    3.2
    """
    check.positive("bound", bound, "joint_sensitivity")
    largest = max(appearances(actions))
    return float(bound) * math.sqrt(largest) / len(actions)


def paper_sensitivity(actions: Sequence[int], *, bound: float) -> float:
    r"""Return Appendix A's bound :math:`b \mu / N`, the sensitivity in the 1-norm.

    Examples
    --------
    >>> paper_sensitivity([4] * 5, bound=1.0)
    51.2
    """
    check.positive("bound", bound, "paper_sensitivity")
    return float(bound) * max(appearances(actions)) / len(actions)


def averaging_matrix(actions: Sequence[int]) -> FloatArray:
    """Return J in one state as a matrix, for small teams.

    Parameters
    ----------
    actions : sequence of int
        Numbers of local actions m_i, of at most 60 agents; the matrix may have
        3 * 10^7 numbers.

    Returns
    -------
    numpy.ndarray, shape (m, m_0 + ... + m_{N-1})
        ``averaging_matrix(actions) @ concatenated_rows`` is the joint reward in
        one state. (J itself is this block once for every state.)

    Examples
    --------
    >>> averaging_matrix([1, 2])
    array([[0.5, 0.5, 0. ],
           [0.5, 0. , 0.5]])
    """
    counts = action_counts(actions, "averaging_matrix")
    few_actions(counts, "averaging_matrix", columns=sum(counts))
    local = np.indices(counts).reshape(len(counts), -1)
    columns = [
        local[i][:, None] == np.arange(count)[None, :] for i, count in enumerate(counts)
    ]
    return np.asarray(np.concatenate(columns, axis=1) / len(counts))


def enumerated_sensitivity(actions: Sequence[int], *, bound: float) -> float:
    """Return the sensitivity of J by trying every entry, for small teams.

    J is linear, so the largest change is b in one entry; each is tried, through
    `joint_reward` itself, in one state (the others are copies). The joint rewards of
    all tries may be 3 * 10^7 numbers, and the agents 60.

    Examples
    --------
    >>> enumerated_sensitivity([4, 2], bound=1.0)
    1.0
    """
    check.positive("bound", bound, "enumerated_sensitivity")
    counts = action_counts(actions, "enumerated_sensitivity")
    few_actions(counts, "enumerated_sensitivity", columns=sum(counts))
    largest = 0.0
    for i, count in enumerate(counts):
        for k in range(count):
            change = [np.zeros((1, one)) for one in counts]
            change[i][0, k] = float(bound)
            largest = max(largest, float(np.linalg.norm(joint_reward(change))))
    return largest
