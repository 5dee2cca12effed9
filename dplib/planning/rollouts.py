r"""Sampled episodes of Algorithm 2: a second witness beside the exact chances.

Chen et al., Section 4.2 (Algorithm 2).

Model. That of `dplib.planning.execution`: what agents tell, then what they do, then
where they move. Episodes are sampled one after the other in compiled code; every
distribution is a row of what is possible, likeliest first, with what it sums up to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.compiled import CACHE
from dplib.planning.execution import check_fit
from dplib.planning.game import MarkovGame
from dplib.planning.policies import Policies
from dplib.privacy.word import OnlineMechanism

__all__ = ["Rollouts", "rollouts"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Sampled episodes.

    Attributes
    ----------
    success, failure : numpy.ndarray of bool, shape (samples,)
        Whether the episode reached the target, or the dead set.
    moves : numpy.ndarray of int, shape (samples,)
        Number of moves until the end, or all of them.
    """

    success: NDArray[np.bool_]
    failure: NDArray[np.bool_]
    moves: NDArray[np.int64]


def rollouts(
    team: MarkovGame,
    policies: Policies,
    *,
    steps: int,
    samples: int,
    rng: np.random.Generator,
    mechanisms: Sequence[OnlineMechanism] | None = None,
    first: str = "drawn",
) -> Rollouts:
    """Return sampled episodes; parameters as in `execution.success_chance`."""
    check_fit(team, policies, steps, mechanisms, first, "rollouts")
    samples = check.integer("samples", samples, "rollouts", low=1)
    N = team.n_agents
    private = tuple(j for j in team.told if mechanisms is not None)
    depends = np.array([[j in on for j in range(N)] for on in team.depends])
    ends = np.where(team.active, 0, np.where(team.target, 1, 2))
    end, moves = _episodes(
        np.array(team.start),
        np.array(team.shape),
        np.array(team.actions),
        depends,
        np.array([j in private for j in range(N)]),
        ends.ravel(),
        _table(policies),
        _table(team.transitions),
        _table([one.law for one in mechanisms or ()]),
        steps,
        samples,
        first == "drawn",
        rng,
    )
    return Rollouts(success=end == 1, failure=end == 2, moves=moves)


class _Table(NamedTuple):
    """Distributions of all agents, row after row: what is possible, likeliest first."""

    first_row: IntArray  # (N,)
    first_entry: IntArray  # (rows + 1,)
    value: IntArray  # (entries,)
    upto: FloatArray  # (entries,) sum of the probabilities of this row so far


def _table(laws: Sequence[FloatArray]) -> _Table:
    """Return distributions along last axes as rows without zeros."""
    value, upto, counts = [], [], []
    for law in laws:
        rows = law.reshape(-1, law.shape[-1])
        order = np.argsort(-rows, axis=1, kind="stable")
        p = np.take_along_axis(rows, order, axis=1)
        value.append(order[p > 0.0])
        upto.append(np.cumsum(p, axis=1)[p > 0.0])
        counts.append(np.count_nonzero(p, axis=1))
    none = [np.zeros(0, dtype=np.int64)]
    return _Table(
        first_row=np.cumsum([0, *(len(rows) for rows in counts)]),
        first_entry=np.cumsum(np.concatenate([[0], *counts]), dtype=np.int64),
        value=np.concatenate(value or none),
        upto=np.concatenate(upto or none).astype(float),
    )


@numba.njit(cache=CACHE)
def _draw(table: _Table, agent: int, row: int, rng: np.random.Generator) -> int:
    """Return one draw from a row of an agent's distributions."""
    row += table.first_row[agent]
    at, stop = table.first_entry[row], table.first_entry[row + 1] - 1
    u = rng.random() * table.upto[stop]
    while at < stop and table.upto[at] <= u:
        at += 1
    return int(table.value[at])


@numba.njit(cache=CACHE)
def _episodes(
    start: IntArray,
    n: IntArray,
    m: IntArray,
    depends: NDArray[np.bool_],
    private: NDArray[np.bool_],
    ends: IntArray,
    policies: _Table,
    transitions: _Table,
    mechanisms: _Table,
    steps: int,
    samples: int,
    drawn: bool,
    rng: np.random.Generator,
) -> tuple[IntArray, IntArray]:
    """Return how each episode ends (1 in the target, 2 dead), and its moves."""
    N = len(start)
    end = np.zeros(samples, np.int64)
    moves = np.full(samples, steps)
    state, told = start.copy(), start.copy()
    for episode in range(samples):
        state[:], told[:] = start, start
        for t in range(steps):
            for j in range(N):
                if not private[j]:
                    told[j] = state[j]
                elif drawn or t > 0:
                    told[j] = _draw(mechanisms, j, state[j] * n[j] + told[j], rng)
            joint = 0
            for i in range(N):
                row = 0
                for j in range(N):
                    if depends[i, j]:
                        row = row * n[j] + told[j]
                action = _draw(policies, i, row * n[i] + state[i], rng)
                state[i] = _draw(transitions, i, state[i] * m[i] + action, rng)
                joint = joint * n[i] + state[i]
            if ends[joint] > 0:
                end[episode], moves[episode] = ends[joint], t + 1
                break
    return end, moves
