r"""The compiled loops: backups agent by agent, and sweeps under a fixed policy.

`dplib.mdp.batch` and `dplib.mdp.evaluate` are the way in; `Model.expected` is the same
backup in plain numpy, against which this one is tested.

Model. An agent's transitions are stored row by row, (s, a) after (s, a), and of each
row only what is not zero. Arrays over joint states and actions have the shape (m, n)
here, states last: after agents i..N-1 were averaged over, the partial result has the
axes

    (s'_0 .. s'_{i-1}, a_i .. a_{N-1}, s_i .. s_{N-1}),

so the innermost loop runs over the joint states of agents that are done. Agent 0 comes
last, and its step is fused with the maximum over actions.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from dplib.compiled import CACHE

__all__ = ["Rows", "improve", "iterate_each", "policy_rows", "sparse_rows"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Rows(NamedTuple):
    """Transitions of all agents, row after row, without their zeros."""

    n: IntArray  # (N,) local states
    m: IntArray  # (N,) local actions
    first_row: IntArray  # (N,) row of (s_i, a_i) is first_row[i] + s_i * m_i + a_i
    first_entry: IntArray  # (rows + 1,) first entry of each row
    column: IntArray  # (entries,) local successor s'_i
    value: FloatArray  # (entries,) its probability


def sparse_rows(factors: tuple[FloatArray, ...]) -> Rows:
    """Return transitions of shapes (n_i, m_i, n_i) as rows without zeros.

    Examples
    --------
    >>> rows = sparse_rows((np.array([[[0.0, 1.0]], [[0.5, 0.5]]]),))
    >>> rows.first_entry, rows.column, rows.value
    (array([0, 1, 3]), array([1, 0, 1]), array([1. , 0.5, 0.5]))
    """
    flat = [law.reshape(-1, law.shape[2]) for law in factors]
    counts = np.concatenate([np.count_nonzero(rows, axis=1) for rows in flat])
    lengths = [rows.shape[0] for rows in flat]
    return Rows(
        n=np.array([law.shape[0] for law in factors], dtype=np.int64),
        m=np.array([law.shape[1] for law in factors], dtype=np.int64),
        first_row=np.cumsum([0, *lengths[:-1]], dtype=np.int64),
        first_entry=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        column=np.concatenate([np.nonzero(rows)[1] for rows in flat]).astype(np.int64),
        value=np.concatenate([rows[np.nonzero(rows)] for rows in flat]),
    )


@numba.njit(cache=CACHE)
def _average(
    rows: Rows, i: int, before: int, acts: int, done: int, x: FloatArray, y: FloatArray
) -> None:
    """Average over s'_i: x of axes (before, n_i, acts, done) into y.

    y has the axes (before, m_i, acts, n_i, done).
    """
    n, m = rows.n[i], rows.m[i]
    for p in range(before):
        for s in range(n):
            for a in range(m):
                row = rows.first_row[i] + s * m + a
                low, high = rows.first_entry[row], rows.first_entry[row + 1]
                for b in range(acts):
                    to = (((p * m + a) * acts + b) * n + s) * done
                    for d in range(done):
                        y[to + d] = 0.0
                    for e in range(low, high):
                        weight = rows.value[e]
                        at = ((p * n + rows.column[e]) * acts + b) * done
                        for d in range(done):
                            y[to + d] += weight * x[at + d]


@numba.njit(cache=CACHE)
def improve(
    rows: Rows,
    rewards: FloatArray,
    discount: float,
    values: FloatArray,
    scratch: FloatArray,
    best: FloatArray,
    policy: IntArray,
) -> None:
    """Write the largest action values into `best`, and their actions into `policy`.

    Parameters
    ----------
    rows : Rows
        The dynamics.
    rewards : numpy.ndarray, shape (m, n)
        Rewards, states last.
    discount : float
        Discount factor.
    values : numpy.ndarray, shape (n,)
        Values of the states from the next step on.
    scratch : numpy.ndarray, shape (2, n * m / m_0)
        Overwritten.
    best, policy : numpy.ndarray, shape (n,)
        Results. Of equally good actions the first one is taken.
    """
    agents = rows.n.size
    before, acts, done = values.size, 1, 1
    x, other = scratch[0], scratch[1]
    for s in range(values.size):
        x[s] = values[s]
    for i in range(agents - 1, 0, -1):
        before //= rows.n[i]
        _average(rows, i, before, acts, done, x, other)
        x, other = other, x
        acts *= rows.m[i]
        done *= rows.n[i]
    # So many of the others' actions at a time that q stays in the fast memory.
    group = max(1, 1024 // done)
    q = np.empty(group * done)
    for s in range(rows.n[0]):
        for d in range(done):
            best[s * done + d] = -np.inf
        for a in range(rows.m[0]):
            row = s * rows.m[0] + a
            low, high = rows.first_entry[row], rows.first_entry[row + 1]
            for b0 in range(0, acts, group):
                size = min(group, acts - b0) * done
                for d in range(size):
                    q[d] = 0.0
                for e in range(low, high):
                    weight = rows.value[e]
                    at = (rows.column[e] * acts + b0) * done
                    for d in range(size):
                        q[d] += weight * x[at + d]
                for b in range(b0, min(b0 + group, acts)):
                    action, from_ = a * acts + b, (b - b0) * done
                    for d in range(done):
                        state = s * done + d
                        total = rewards[action, state] + discount * q[from_ + d]
                        better = total > best[state]
                        best[state] = total if better else best[state]
                        policy[state] = action if better else policy[state]


@numba.njit(cache=CACHE)
def policy_rows(rows: Rows, policy: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the joint transitions under a policy: first entries, columns, values."""
    agents, states = rows.n.size, policy.size
    local = np.empty((agents, states), dtype=np.int64)  # row of each agent
    first = np.zeros(states + 1, dtype=np.int64)
    for s in range(states):
        left, act, count = s, policy[s], 1
        for i in range(agents - 1, -1, -1):
            own = left % rows.n[i] * rows.m[i] + act % rows.m[i]
            row = rows.first_row[i] + own
            left //= rows.n[i]
            act //= rows.m[i]
            local[i, s] = row
            count *= rows.first_entry[row + 1] - rows.first_entry[row]
        first[s + 1] = first[s] + count
    column = np.empty(first[states], dtype=np.int64)
    value = np.empty(first[states])
    for s in range(states):
        start, count = first[s], 1
        column[start], value[start] = 0, 1.0
        for i in range(agents):
            low = rows.first_entry[local[i, s]]
            more = rows.first_entry[local[i, s] + 1] - low
            # From the end, so that nothing is overwritten before it is read.
            for k in range(count - 1, -1, -1):
                old, weight = column[start + k], value[start + k]
                for e in range(more - 1, -1, -1):
                    at = start + k * more + e
                    column[at] = old * rows.n[i] + rows.column[low + e]
                    value[at] = weight * rows.value[low + e]
            count *= more
    return first, column, value


@numba.njit(cache=CACHE)
def iterate_each(
    rows: Rows,
    rewards: FloatArray,
    discount: float,
    values: FloatArray,
    sweeps: int,
    spread: bool,
    limit: FloatArray,
    most: IntArray,
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Improve and sweep, sample by sample, until the change is small.

    Parameters
    ----------
    rows : Rows
        The dynamics.
    rewards : numpy.ndarray, shape (S, n, m)
        Rewards.
    discount : float
        Discount factor.
    values : numpy.ndarray, shape (S, n)
        Start; overwritten by the result of the last backup.
    sweeps : int
        Sweeps under the new policy after each backup; 0 is value iteration.
    spread : bool
        What must be small: half the spread of the change, or its largest modulus.
    limit, most : numpy.ndarray, shape (S,)
        How small, and the backups after which to give up.

    Returns
    -------
    policies : numpy.ndarray, shape (S, n)
        The actions that were best in the last backup.
    iterations : numpy.ndarray, shape (S,)
        Number of backups.
    low, high : numpy.ndarray, shape (S,)
        Least and largest change in the last one.
    """
    samples, states, actions = rewards.shape
    policies = np.zeros((samples, states), dtype=np.int64)
    done = np.zeros(samples, dtype=np.int64)
    low, high = np.empty(samples), np.empty(samples)
    r = np.empty((actions, states))
    scratch = np.empty((2, states * (actions // rows.m[0])))
    best, other, earned = np.empty(states), np.empty(states), np.empty(states)
    for k in range(samples):
        r[:] = rewards[k].T
        v, policy = values[k], policies[k]
        for iteration in range(1, most[k] + 1):
            improve(rows, r, discount, v, scratch, best, policy)
            least, largest = np.inf, -np.inf
            for s in range(states):
                change = best[s] - v[s]
                least, largest = min(least, change), max(largest, change)
                v[s] = best[s]
            done[k], low[k], high[k] = iteration, least, largest
            size = 0.5 * (largest - least) if spread else max(largest, -least)
            if size <= limit[k]:
                break
            if sweeps > 0 and iteration < most[k]:
                first, column, weight = policy_rows(rows, policy)
                for s in range(states):
                    earned[s] = r[policy[s], s]
                for _ in range(sweeps):
                    for s in range(states):
                        total = 0.0
                        for e in range(first[s], first[s + 1]):
                            total += weight[e] * v[column[e]]
                        other[s] = earned[s] + discount * total
                    v[:] = other
    return policies, done, low, high
