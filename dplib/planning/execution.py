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

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.planning.game import MarkovGame
from dplib.planning.policies import Policies
from dplib.privacy.word import OnlineMechanism

__all__ = ["chance", "check_fit", "success_chance"]

FloatArray = NDArray[np.float64]

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

    Parameters that are not described are those of `success_chance`.

    Parameters
    ----------
    ends : numpy.ndarray, shape (n_1, ..., n_N)
        Value of each joint state in which an episode may end: 1 for those that count
        makes it a probability, 0 with ``each=1`` the expected number of moves.
    """
    check_fit(team, policies, steps, mechanisms, first, "chance")
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
    value = np.zeros(team.shape + tuple(team.shape[j] for j in told))
    value += np.where(team.active, 0.0, ends)[wide]
    before = value
    axes, acting, telling = next_ + z, [], []
    for i in _order(team):
        on = [heard[j] for j in team.depends[i]]
        step, axes = _contraction(moves[i], [*on, i, N + i], axes, keep=[i, *on])
        acting.append(step)
    acted = [axes.index(axis) for axis in here + z]
    goes_on, gain = (
        (x[wide] + np.zeros_like(value)).transpose(np.argsort(acted)).copy()
        for x in (team.active.astype(float), np.where(team.active, each, ends))
    )
    for j, mechanism in enumerate(mechanisms or ()):
        if j in told:
            law = [j, 3 * N + j, 2 * N + j]
            step, axes = _contraction(mechanism.law, law, axes, keep=[j])
            telling.append(step)
    spoken = [axes.index(axis) for axis in here + last]
    for left in range(steps, 0, -1):
        result = value
        for step in acting:
            result = step(result)
        result *= goes_on  # as laid out in memory
        result += gain
        before = result.transpose(acted)
        for step in telling:
            result = step(result)
        later, value = value, result.transpose(spoken)
        # Means do not increase the largest change from step to step.
        if left % 8 == 0 and left * np.abs(value - later).max() <= ROUNDING:
            break
    start = team.start + tuple(team.start[j] for j in told)
    return float((value if first == "drawn" else before)[start])


def check_fit(
    team: MarkovGame,
    policies: Policies,
    steps: int,
    mechanisms: Sequence[OnlineMechanism] | None,
    first: str,
    where: str,
) -> None:
    """Refuse what does not fit the team, in one sentence."""
    check.integer("steps", steps, where, low=0)
    check.member("first", first, where, ("drawn", "start"))
    shapes = [
        (*(team.shape[j] for j in on), n, m)
        for on, n, m in zip(team.depends, team.shape, team.actions, strict=True)
    ]
    if (have := [np.shape(policy) for policy in policies]) != shapes:
        check.fail("policies", where, f"arrays of shapes {shapes}", have)
    off = max(float(np.abs(policy.sum(axis=-1) - 1.0).max()) for policy in policies)
    if not off <= 1e-9:  # a nan is no probability either
        must = "probabilities that sum to 1 at every observation"
        check.fail("policies", where, must, f"sums that are {off:.3g} off")
    if mechanisms is not None:
        sizes = tuple(len(one.feasible) for one in mechanisms)
        if sizes != team.shape:
            must = f"one for each agent, with {team.shape} states"
            check.fail("mechanisms", where, must, sizes)


def _contraction(
    left: FloatArray, a: list[int], b: list[int], keep: list[int]
) -> tuple[Callable[[FloatArray], FloatArray], list[int]]:
    """Return what multiplies an array with axes b by `left`, and the result's axes.

    Axes of both are summed over, but for those to keep.
    """
    both = [axis for axis in a if axis in b and axis in keep]
    gone = [axis for axis in a if axis in b and axis not in keep]
    own = [axis for axis in a if axis not in b]
    other = [axis for axis in b if axis not in a]
    size = dict(zip(a, left.shape, strict=True))
    batch, rows, inner = (
        math.prod(size[axis] for axis in axes) for axes in (both, own, gone)
    )
    order = [a.index(axis) for axis in both + own + gone]
    matrix = np.ascontiguousarray(left.transpose(order).reshape(batch, rows, inner))
    given = [b.index(axis) for axis in both + gone + other]

    def apply(right: FloatArray) -> FloatArray:
        moved = right.transpose(given)
        rest = moved.shape[len(both) + len(gone) :]
        product = matrix @ moved.reshape(batch, inner, -1)
        return product.reshape([size[axis] for axis in both + own] + list(rest))

    return apply, both + own + other


def _order(team: MarkovGame) -> list[int]:
    """Return the agents such that nobody comes before one that listens to it."""
    done: list[int] = []
    while len(done) < team.n_agents:
        left = [i for i in range(team.n_agents) if i not in done]
        heard = {j for i in left for j in team.depends[i]}
        done.append(next(i for i in left if i not in heard))
    return done
