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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.planning.game import MarkovGame
from dplib.planning.policies import Policies
from dplib.privacy.word import OnlineMechanism

__all__ = ["Rollouts", "chance", "rollouts", "success_chance"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: All further steps together change a result by no more than this.
ROUNDING = 1e-12


def success_chance(
    team: MarkovGame,
    policies: Policies,
    *,
    steps: int,
    mechanisms: Sequence[OnlineMechanism] | None = None,
    first: str = "drawn",
) -> float:
    """Return the probability of reaching the target within so many steps.

    Parameters
    ----------
    team, policies : MarkovGame, Policies
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
    team: MarkovGame,
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
    axes, acting, telling = next_ + z, [], []
    for i in _order(team):
        on = [heard[j] for j in team.depends[i]]
        out = [axis for axis in axes if axis != N + i]
        out += [axis for axis in (i, *on) if axis not in out]
        acting.append(_contraction(moves[i], [*on, i, N + i], axes, out))
        axes = out
    acted, axes = [axes.index(axis) for axis in here + z], here + z
    for j, mechanism in enumerate(mechanisms or ()):
        if j in told:
            out = [axis if axis != 2 * N + j else 3 * N + j for axis in axes]
            law = [j, 3 * N + j, 2 * N + j]
            telling.append(_contraction(mechanism.law, law, axes, out))
            axes = out
    spoken = [axes.index(axis) for axis in here + last]
    for left in range(steps, 0, -1):
        result = value
        for step in acting:
            result = step(result)
        before = result = np.where(active, result.transpose(acted) + each, fixed)
        for step in telling:
            result = step(result)
        later, value = value, result.transpose(spoken)
        # Means do not increase the largest change from step to step.
        if left % 8 == 0 and left * np.abs(value - later).max() <= ROUNDING:
            break
    start = team.start + tuple(team.start[j] for j in told)
    return float((value if first == "drawn" else before)[start])


def _contraction(
    left: FloatArray, a: list[int], b: list[int], out: list[int]
) -> Callable[[FloatArray], FloatArray]:
    """Return what multiplies an array with axes b by `left`, and sums to `out`."""
    both = [axis for axis in a if axis in b and axis in out]
    gone = [axis for axis in a if axis in b and axis not in out]
    own = [axis for axis in a if axis not in b]
    other = [axis for axis in b if axis not in a]
    size = dict(zip(a, left.shape, strict=True))
    batch, rows, inner = (
        math.prod(size[axis] for axis in axes) for axes in (both, own, gone)
    )
    order = [a.index(axis) for axis in both + own + gone]
    matrix = np.ascontiguousarray(left.transpose(order).reshape(batch, rows, inner))
    given = [b.index(axis) for axis in both + gone + other]
    axes = both + own + other
    back = [axes.index(axis) for axis in out]

    def apply(right: FloatArray) -> FloatArray:
        moved = right.transpose(given)
        rest = moved.shape[len(both) + len(gone) :]
        product = matrix @ moved.reshape(batch, inner, -1)
        shape = [size[axis] for axis in both + own] + list(rest)
        return np.asarray(product.reshape(shape).transpose(back))

    return apply


def _order(team: MarkovGame) -> list[int]:
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
    team: MarkovGame,
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
    acts = [_Table(policy) for policy in policies]
    laws = [_Table(law) for law in team.transitions]
    tells = [_Table(one.law) for one in mechanisms or ()]
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
                told[j] = tells[j].draw((state[j], told[j]), rng)
        after = np.empty_like(state)
        for i, on in enumerate(team.depends):
            seen = (*(told[j] for j in on), state[i])
            action = acts[i].draw(seen, rng)
            after[i] = laws[i].draw((state[i], action), rng)
        state = after
        won, lost = team.target[tuple(state)], team.dead[tuple(state)]
        success[alive[won]], failure[alive[lost]] = True, True
        going = ~(won | lost)
        moves[alive[~going]] = t + 1
        alive, state, told = alive[going], state[:, going], told[:, going]
        if alive.size == 0:
            break
    return Rollouts(success=success, failure=failure, moves=moves)


class _Table:
    """Distributions along the last axis, to draw from: what is possible, summed up."""

    def __init__(self, p: FloatArray) -> None:
        width = int(np.count_nonzero(p, axis=-1).max())
        self.value = np.argsort(p == 0.0, axis=-1, kind="stable")[..., :width]
        self.upto = np.cumsum(np.take_along_axis(p, self.value, axis=-1), axis=-1)

    def draw(self, at: tuple[IntArray, ...], rng: np.random.Generator) -> IntArray:
        """Return one draw from the distribution at each index."""
        upto = self.upto[at]
        u = rng.random((len(upto), 1)) * upto[:, -1:]
        place = np.count_nonzero(upto <= u, axis=1)
        return np.asarray(self.value[(*at, place)])
