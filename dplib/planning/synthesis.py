r"""Policies that depend little on each other: the convex-concave procedure.

Chen et al., Section 6; Karabag, Neary and Topcu (2022).

Model. Equation 3 asks for joint policies that maximise

.. math:: v^{tr} - \delta \, l^{tr} - \beta \, C ,

with C the proxy of `correlation`, over occupancy measures x: the expected number of
times that the team is in joint state s and takes joint action a. In the target and dead
sets every agent takes one more action, to stop, once. Then
:math:`v = x(\text{target})` and :math:`l = \sum x`.

C is a sum of concave terms, the entropies of the agents, less a concave one, the joint
entropy. Each iteration replaces the former by their tangents at the last x'. They are
homogeneous of degree one, so the tangent is
:math:`-\sum x_{s,a} \sum_i \ln q'_i(a_i | s_i)` with
:math:`q'_i(a_i | s_i) = x'_{s_i a_i} / x'_{s_i}`. What is left is the problem of `soft`
at temperature :math:`\beta`, with :math:`-\delta + \beta \sum_i \ln q'_i` as rewards:
policies pay for their divergence from what the agents would do on their own. The
objective cannot fall, for tangents lie above.

The procedure starts from the x of a problem without correlation (`first_occupancy`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, linprog
from scipy.sparse import coo_array, csc_array, csr_array, eye_array
from scipy.sparse.linalg import splu
from scipy.special import entr

from dplib import check
from dplib.planning.correlation import local_counts, proxy
from dplib.planning.game import MarkovGame
from dplib.planning.policies import Policies
from dplib.planning.soft import Backups, EndlessError, Soft, solve_soft

__all__ = [
    "FLOOR",
    "Iterate",
    "Weights",
    "convex_concave",
    "first_occupancy",
    "induced",
    "joint_balance",
    "length",
    "linear_program",
    "success",
    "tangent",
]

FloatArray = NDArray[np.float64]
Method = Literal["highs", "highs-ds", "highs-ipm"]

FLOOR = 1e-10
"""The trace that every state and action keeps in an occupancy measure, so that all
quotients are defined. It makes policies uniform at observations that never occur."""

#: What the largest expected length must be.
SHORTEST = "a length within which some policy ends an episode"


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Prices of Equation 3; the success probability has price 1.

    Parameters
    ----------
    length : float
        delta: price of one step of the expected length, 0 or greater.
    correlation : float
        beta: price of one nat of total correlation, positive.
    """

    length: float
    correlation: float

    def __post_init__(self) -> None:
        value = check.nonnegative("length", self.length, "Weights")
        object.__setattr__(self, "length", value)
        value = check.positive("correlation", self.correlation, "Weights")
        object.__setattr__(self, "correlation", value)


@dataclass(frozen=True, eq=False)
class Iterate:
    """One iteration of the convex-concave procedure.

    Attributes
    ----------
    occupancy : numpy.ndarray, shape (n_1, ..., n_N, m_1 + 1, ..., m_N + 1)
        Joint occupancy measure, with at least `FLOOR` everywhere.
    objective : float
        v - delta l - beta C at this x.
    success, length, correlation : float
        v, l and C (the proxy).
    bound : float
        The convex problem of this iteration was solved up to this much.
    """

    occupancy: FloatArray
    objective: float
    success: float
    length: float
    correlation: float
    bound: float


def success(team: MarkovGame, occupancy: FloatArray) -> float:
    """Return the probability of the target under truthful communication."""
    return float(occupancy[team.target].reshape(team.target.sum(), -1)[:, -1].sum())


def length(occupancy: FloatArray) -> float:
    """Return the expected effective length, the final state included."""
    return float(occupancy[occupancy > FLOOR].sum())


def convex_concave(
    team: MarkovGame, weights: Weights, first: FloatArray
) -> Iterator[Iterate]:
    """Yield the iterates of the procedure, the first occupancy measure included.

    Parameters
    ----------
    team : MarkovGame
        The problem.
    weights : Weights
        Prices of Equation 3.
    first : numpy.ndarray
        Occupancy measure to start from, as `first_occupancy` returns it.
    """
    backups = Backups(team)
    yield _iterate(team, weights, first, 0.0)
    occupancy, policy = first, None
    while True:
        rewards, ends = tangent(team, weights, occupancy)
        found = solve_soft(
            backups,
            rewards[backups.active],
            ends,
            temperature=weights.correlation,
            start=policy,
        )
        policy = found.policy
        occupancy = _occupancy(team, backups, found)
        yield _iterate(team, weights, occupancy, found.bound)


def tangent(
    team: MarkovGame, weights: Weights, occupancy: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what the problem of the next iteration pays.

    Returns
    -------
    rewards : numpy.ndarray, shape (joint states, joint actions)
        -delta + beta * sum of ln q'_i for acting.
    ends : numpy.ndarray, shape (joint states,)
        The same for stopping, and 1 in the target.
    """
    own = [
        np.log(x / x.sum(axis=1, keepdims=True)) for x in local_counts(team, occupancy)
    ]
    act = [_spread(log_q[:, :-1], team, i) for i, log_q in enumerate(own)]
    stop = [_spread(log_q[:, -1:], team, i) for i, log_q in enumerate(own)]
    beta, delta = weights.correlation, weights.length
    rewards = reduce(np.add, act).reshape(team.n_states, team.n_actions)
    ends = team.target.ravel() + beta * reduce(np.add, stop).ravel()
    return beta * rewards - delta, ends - delta


def first_occupancy(
    team: MarkovGame, *, price: float = 0.1, longest: float = 20.0
) -> FloatArray:
    """Return the occupancy measure from which the authors start.

    It maximises success - price * length + price * (entropy of policy and transitions)
    among those of expected length `longest` at most. The multiplier of this
    constraint is found by a root search: the larger it is, the shorter the episodes.

    Parameters
    ----------
    team : MarkovGame
        The problem.
    price : float
        Price of length and entropy.
    longest : float
        Largest expected length, the final state included.
    """
    backups = Backups(team)
    noise = np.zeros((1, 1))
    for law in backups.local:
        spread = entr(law).sum(axis=2)
        noise = (noise[:, :, None] + spread[:, None, :]).reshape(len(law), -1)
    reach = team.target.ravel().astype(float)

    def at(multiplier: float) -> Soft:
        cost = price + multiplier
        return solve_soft(
            backups,
            price * noise - cost,
            reach - cost,
            temperature=price,
        )

    def excess(multiplier: float) -> float:
        try:
            found = at(multiplier)
        except EndlessError:
            return -1.0 / longest
        return 1.0 / float(found.visits.sum() + 1.0) - 1.0 / longest

    high = price * float(noise.max() + np.log(team.n_actions)) + 1.0
    while excess(high) < 0.0:
        high *= 2.0
        if high > 1e4:
            check.fail("longest", "first_occupancy", SHORTEST, longest)
    low = high / 2.0
    while excess(low) >= 0.0:
        high, low = low, low / 2.0
        if low < 1e-9:  # the constraint does not bind
            return _occupancy(team, backups, at(0.0))
    best = float(brentq(excess, low, high, xtol=1e-13, rtol=1e-13))
    return _occupancy(team, backups, at(best))


def linear_program(
    team: MarkovGame,
    *,
    price: float = 0.0,
    longest: float = 100.0,
    method: Method = "highs",
) -> FloatArray:
    """Return an occupancy measure that maximises success - price * length.

    Without a price on length the problem may have many solutions, as SysAdmin's has;
    then which one comes out depends on the solver.

    Parameters
    ----------
    team : MarkovGame
        The problem.
    price : float
        Price of one step.
    longest : float
        Largest expected length, the final state included.
    method : str
        A method of `scipy.optimize.linprog`.
    """
    backups = Backups(team)
    S, m = len(backups.active), team.n_actions
    balance: Any  # sparse arrays are allowed here, if not to the type checker
    balance, reach = joint_balance(team, backups)
    unit = np.zeros(S)
    unit[backups.active == np.ravel_multi_index(team.start, team.shape)] = 1.0
    found = linprog(
        price - reach,
        A_ub=np.ones((1, S * m)),
        b_ub=[longest - 1.0],
        A_eq=balance,
        b_eq=unit,
        method=method,
    )
    if found.status == 2:
        check.fail("longest", "linear_program", SHORTEST, longest)
    if found.status != 0:
        raise RuntimeError(f"The linear program was not solved: {found.message}")
    x = np.maximum(np.asarray(found.x), 0.0).reshape(S, m)
    visits = x.sum(axis=1)
    policy = x / np.where(visits > 0.0, visits, 1.0)[:, None]
    after = visits @ backups.under(policy)
    return _full(team, backups, x, np.asarray(after))


def induced(team: MarkovGame, policies: Policies) -> FloatArray:
    """Return the joint occupancy measure of local policies, with truthful words.

    Each agent draws its action independently of the others, given the joint state.
    """
    backups = Backups(team)
    S = len(backups.active)
    where = np.unravel_index(backups.active, team.shape)
    policy = np.ones((S, 1))
    for i, on in enumerate(team.depends):
        own = policies[i][(*(where[j] for j in on), where[i])]
        policy = (policy[:, :, None] * own[:, None, :]).reshape(S, -1)
    move = backups.under(policy)
    unit = (backups.active == np.ravel_multi_index(team.start, team.shape)) * 1.0
    visits = splu(csc_array(eye_array(S) - move[:, backups.active].T)).solve(unit)
    x = visits[:, None] * policy
    return _full(team, backups, x, np.asarray(visits @ move))


def joint_balance(team: MarkovGame, backups: Backups) -> tuple[csr_array, FloatArray]:
    """Return the affine constraints on x, and the chance of success of each (s, a).

    Returns
    -------
    balance : sparse array, shape (S, S * m)
        ``balance @ x`` is what leaves each active state less what enters it.
    reach : numpy.ndarray, shape (S * m,)
        Probability that the next joint state is in the target.
    """
    S, m = len(backups.active), team.n_actions
    number = np.full(team.n_states, -1)
    number[backups.active] = np.arange(S)
    parts = []
    for a in range(m):
        policy = np.zeros((S, m))
        policy[:, a] = 1.0
        move = coo_array(backups.under(policy)[:, backups.active])
        column = move.row * m + a
        parts.append(coo_array((move.data, (move.col, column)), shape=(S, S * m)))
    enter = sum(parts[1:], parts[0])
    leave = coo_array(
        (np.ones(S * m), (np.repeat(np.arange(S), m), np.arange(S * m))),
        shape=(S, S * m),
    )
    reach = backups.mean(team.target.ravel().astype(float)).ravel()
    return csr_array(leave - enter), reach


def _iterate(
    team: MarkovGame, weights: Weights, occupancy: FloatArray, bound: float
) -> Iterate:
    """Return an occupancy measure with what Equation 3 says of it."""
    v, steps, C = success(team, occupancy), length(occupancy), proxy(team, occupancy)
    objective = v - weights.length * steps - weights.correlation * C
    return Iterate(occupancy, objective, v, steps, C, bound)


def _occupancy(team: MarkovGame, backups: Backups, found: Soft) -> FloatArray:
    """Return the occupancy measure of a solution."""
    x = found.visits[:, None] * found.policy
    return _full(team, backups, x, found.after)


def _full(
    team: MarkovGame, backups: Backups, x: FloatArray, after: FloatArray
) -> FloatArray:
    """Return x (S, m) and the arrivals as one array, with stopping and the floor."""
    N, S = team.n_agents, team.n_states
    more = tuple(m + 1 for m in team.actions)
    result = np.zeros((S, *more))
    going: tuple[Any, ...] = (slice(None), *(slice(0, m) for m in team.actions))
    acting = np.zeros((S, team.n_actions))
    acting[backups.active] = x
    result[going] = acting.reshape(S, *team.actions)
    stopped = ~team.active.ravel()
    stop: tuple[Any, ...] = (stopped, *(-1,) * N)
    result[stop] = after[stopped]
    return np.maximum(result, FLOOR).reshape(*team.shape, *more)


def _spread(local: FloatArray, team: MarkovGame, i: int) -> FloatArray:
    """Return values of (s_i, a_i) with axes (joint states..., joint actions...)."""
    N = team.n_agents
    axes = [1] * (2 * N)
    axes[i], axes[N + i] = local.shape
    whole = (*team.shape, *(team.actions if local.shape[1] > 1 else (1,) * N))
    return np.broadcast_to(local.reshape(axes), whole)
