r"""How often the team succeeds, exactly, if its agents tell the truth and if not.

Chen et al., Section 4.2 (Algorithm 2).

Model. At each step agent i sees its own true state and the *told* states z of the
agents it depends on; then all agents act and move at once. Truthful agents tell their
state. Private ones draw z from their `OnlineMechanism`, given their true state and what
they told last. The chance of an end is a backward recursion over (true states, told
states of those that others listen to): each agent's next state, and each told state, is
one contraction along its own axis. Nothing is sampled; results are exact to 1e-12.

The first told state is public in Algorithm 2: ``first="start"``. The paper's
experiments draw it already: ``first="drawn"``, from the mechanism, with the start as
the last private state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.planning.policies import Policies
from dplib.planning.team import Team
from dplib.privacy.word import OnlineMechanism

__all__ = ["Rollouts", "chance", "rollouts", "success_chance"]

FloatArray = NDArray[np.float64]

#: All further steps together change a result by no more than this.
ROUNDING = 1e-12


def success_chance(
    team: Team,
    policies: Policies,
    *,
    steps: int,
    mechanisms: Sequence[OnlineMechanism] | None = None,
    first: str = "drawn",
) -> float:
    """Return the probability of reaching the target within so many steps.

    Parameters
    ----------
    team, policies : Team, Policies
        Who acts, and how.
    steps : int
        Largest number of moves.
    mechanisms : sequence of OnlineMechanism, optional
        One for each agent; without them agents tell the truth.
    first : {"drawn", "start"}
        Whether the first told state is drawn, or is the start.
    """
    ends = team.target.astype(float)
    return chance(team, policies, ends, steps=steps, mechanisms=mechanisms, first=first)


def chance(
    team: Team,
    policies: Policies,
    ends: FloatArray,
    *,
    steps: int,
    each: float = 0.0,
    mechanisms: Sequence[OnlineMechanism] | None = None,
    first: str = "drawn",
) -> float:
    """Return the expected value of where an episode ends, plus `each` for every step.

    Parameters
    ----------
    ends : numpy.ndarray, shape (n_1, ..., n_N)
        Value of each joint state in which an episode may end: 1 for those that count
        makes it a probability, 0 with ``each=1`` the expected number of moves.

    The others are those of `success_chance`.
    """
    check.member("first", first, "chance", ("drawn", "start"))
    N, told = team.n_agents, team.told if mechanisms is not None else ()
    moves = [
        np.einsum("...sa,sat->...st", policy, law)
        for policy, law in zip(policies, team.transitions, strict=True)
    ]
    # Axes: true states 0..N-1, their successors N.., told states 2N.., the last 3N.. .
    heard = {j: 2 * N + j if j in told else j for j in range(N)}
    here, next_ = list(range(N)), [N + i for i in range(N)]
    z, last = [2 * N + j for j in told], [3 * N + j for j in told]
    wide = (...,) + (None,) * len(told)
    active, fixed = team.active[wide], np.where(team.active, 0.0, ends)[wide]
    value = np.zeros(team.shape + tuple(team.shape[j] for j in told)) + fixed
    before = value
    for left in range(steps, 0, -1):
        axes, result = next_ + z, value
        for i in _order(team):
            on = [heard[j] for j in team.depends[i]]
            out = [axis for axis in axes if axis != N + i]
            out += [axis for axis in (i, *on) if axis not in out]
            result = _contract(moves[i], [*on, i, N + i], result, axes, out)
            axes = out
        before = result.transpose([axes.index(axis) for axis in here + z])
        before = np.where(active, before + each, fixed)
        axes, result = here + z, before
        for j in told:
            assert mechanisms is not None
            out = [axis if axis != 2 * N + j else 3 * N + j for axis in axes]
            law = [j, 3 * N + j, 2 * N + j]
            result = _contract(mechanisms[j].law, law, result, axes, out)
            axes = out
        later, value = value, result.transpose([axes.index(a) for a in here + last])
        # Means do not increase the largest change from step to step.
        if left * float(np.abs(value - later).max()) <= ROUNDING:
            break
    start = team.start + tuple(team.start[j] for j in told)
    return float((value if first == "drawn" else before)[start])


def _contract(
    left: FloatArray, a: list[int], right: FloatArray, b: list[int], out: list[int]
) -> FloatArray:
    """Multiply two arrays with numbered axes, and sum over those not in `out`."""
    names = ["".join(chr(97 + axis) for axis in axes) for axes in (a, b, out)]
    return np.asarray(np.einsum(f"{names[0]},{names[1]}->{names[2]}", left, right))


def _order(team: Team) -> list[int]:
    """Return the agents such that nobody comes before one that listens to it."""
    done: list[int] = []
    while len(done) < team.n_agents:
        left = [i for i in range(team.n_agents) if i not in done]
        heard = {j for i in left for j in team.depends[i]}
        done.append(next(i for i in left if i not in heard))
    return done


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
    team: Team,
    policies: Policies,
    *,
    steps: int,
    samples: int,
    rng: np.random.Generator,
    mechanisms: Sequence[OnlineMechanism] | None = None,
    first: str = "drawn",
) -> Rollouts:
    """Return many episodes, sampled side by side: actions, moves and told states."""
    check.member("first", first, "rollouts", ("drawn", "start"))
    acts = [np.cumsum(policy, axis=-1) for policy in policies]
    laws = [np.cumsum(law, axis=-1) for law in team.transitions]
    tells = [np.cumsum(one.law, axis=-1) for one in mechanisms or ()]
    state = np.tile(team.start, (samples, 1)).T
    told = state.copy()
    moves = np.full(samples, steps)
    success, failure = np.zeros((2, samples), dtype=bool)
    alive = np.arange(samples)
    for t in range(steps):
        if mechanisms is None:
            told = state
        elif t > 0 or first == "drawn":
            told = told.copy()
            for j in team.told:
                told[j] = _draw(tells[j][state[j], told[j]], rng)
        after = np.empty_like(state)
        for i, on in enumerate(team.depends):
            seen = (*(told[j] for j in on), state[i])
            action = _draw(acts[i][seen], rng)
            after[i] = _draw(laws[i][state[i], action], rng)
        state = after
        won, lost = team.target[tuple(state)], team.dead[tuple(state)]
        success[alive[won]], failure[alive[lost]] = True, True
        going = ~(won | lost)
        moves[alive[~going]] = t + 1
        alive, state, told = alive[going], state[:, going], told[:, going]
        if alive.size == 0:
            break
    return Rollouts(success=success, failure=failure, moves=moves)


def _draw(cumulative: FloatArray, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return one draw from each row of cumulative probabilities."""
    u = rng.random((len(cumulative), 1)) * cumulative[:, -1:]
    return np.asarray(np.count_nonzero(cumulative <= u, axis=1), dtype=np.int64)
