r"""The best policy for rewards plus entropy, when episodes end: exact, with a bound.

Model. In an active joint state s the team takes a joint action a with probability
:math:`\pi(a | s)`, earns r(s, a), and in the end a terminal value. A temperature
:math:`\theta` pays for entropy:

.. math:: V^\pi(s) = \sum_a \pi(a | s) \Bigl( r(s, a) - \theta \ln \pi(a | s)
   + \sum_{s'} T(s, a, s') V^\pi(s') \Bigr) .

The best V is the fixed point of soft value iteration,

.. math:: V(s) = \theta \ln \sum_a \exp \bigl( (r(s, a)
   + \textstyle\sum_{s'} T(s, a, s') V(s')) / \theta \bigr) ,

and the best policy is proportional to the summands. We reach it by Newton's method for
this equation, which is policy iteration: evaluate the policy exactly by one sparse
linear system, then take the summands as the next policy. Values rise from step to step,
and the last steps double the digits. With ln q among the rewards, entropy becomes
minus the divergence from q: the form in which synthesis needs it.

Certificate. With h the expected number of steps that are left, values
:math:`V + c h` that one backup does not raise lie above the best; V itself, the value
of a policy, lies below. So V errs by c h at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import splu
from scipy.special import logsumexp

from dplib.planning.game import MarkovGame

__all__ = ["Backups", "EndlessError", "Soft", "solve_soft"]

FloatArray = NDArray[np.float64]

#: Largest number of Newton steps; a dozen is usual.
STEPS = 60

#: Values above this multiple of what one step can earn count as without bound.
WITHOUT_BOUND = 1e7


class EndlessError(RuntimeError):
    """Staying pays, or episodes are too long for the accuracy of floats."""


class Backups:
    """Means after a step, agent by agent, from the active joint states of a team.

    Joint states and actions count in C order, agent 0 slowest. Of each local state only
    its successors are kept, so a mean over joint successors costs one small product for
    each agent.

    Attributes
    ----------
    active : numpy.ndarray of int, shape (S,)
        Numbers of the active joint states that some policy can reach.
    after : numpy.ndarray of int, shape (S, R)
        Numbers of their joint successors (padded with repetitions of probability 0).
    local : list of numpy.ndarray, shapes (S, m_i, R_i)
        Probabilities of each agent's own successors.
    """

    def __init__(self, team: MarkovGame) -> None:
        self.team = team
        self.active = _reachable(team)
        where = np.unravel_index(self.active, team.shape)
        self.after = np.zeros((len(self.active), 1), dtype=np.int64)
        self.local = []
        for law, s in zip(team.transitions, where, strict=True):
            feasible = law.any(axis=1)
            width = int(feasible.sum(axis=1).max())
            # The feasible states first; what fills up has probability 0.
            successors = np.argsort(~feasible, axis=1, kind="stable")[s, :width]
            self.local.append(np.take_along_axis(law[s], successors[:, None], axis=2))
            joint = self.after[:, :, None] * len(law) + successors[:, None, :]
            self.after = joint.reshape(len(s), -1)

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean of `values` (all joint states) after each (s, a): (S, m)."""
        S = len(self.active)
        result = values[self.after]
        for law in self.local:
            ahead = law @ result.reshape(S, law.shape[2], -1)
            result = ahead.transpose(0, 2, 1).reshape(S, -1)
        return result

    def under(self, policy: FloatArray) -> csr_array:
        """Return the transitions (S, joint states) under a policy of shape (S, m)."""
        S = len(self.active)
        result = policy
        for law in self.local:
            ahead = law.transpose(0, 2, 1) @ result.reshape(S, law.shape[1], -1)
            result = ahead.transpose(0, 2, 1).reshape(S, -1)
        rows = np.repeat(np.arange(S), self.after.shape[1])
        shape = (S, self.team.n_states)
        return csr_array((result.ravel(), (rows, self.after.ravel())), shape=shape)


def _reachable(team: MarkovGame) -> NDArray[np.int64]:
    """Return the numbers of the active joint states that some policy can reach."""
    steps = [law.any(axis=1) for law in team.transitions]
    seen = np.zeros(team.shape, dtype=bool)
    seen[team.start] = True
    count = 0
    while count < (count := int(seen.sum())):
        ahead = seen & team.active
        for step in steps:  # each contracts the first axis and appends it at the end
            ahead = np.tensordot(ahead, step, axes=([0], [0])) > 0
        seen |= ahead
    return np.flatnonzero(seen & team.active)


@dataclass(frozen=True, eq=False)
class Soft:
    """The best policy, and what vouches for it.

    Attributes
    ----------
    values : numpy.ndarray, shape (S,)
        Values of `policy` in the active states.
    policy : numpy.ndarray, shape (S, m)
        Probabilities of joint actions in the active states.
    visits : numpy.ndarray, shape (S,)
        Expected number of visits to each active state, from the start.
    after : numpy.ndarray, shape (joint states,)
        Expected number of arrivals in each joint state.
    residual : float
        Largest change of a value in one backup.
    bound : float
        The value of the start is at most this far below the best.
    iterations : int
        Policies that were evaluated.
    """

    values: FloatArray
    policy: FloatArray
    visits: FloatArray
    after: FloatArray
    residual: float
    bound: float
    iterations: int


def solve_soft(
    backups: Backups,
    rewards: FloatArray,
    ends: FloatArray,
    *,
    temperature: float,
    start: FloatArray | None = None,
    tolerance: float = 1e-9,
) -> Soft:
    """Return the policy that is best for rewards and entropy.

    Parameters
    ----------
    backups : Backups
        Of the team.
    rewards : numpy.ndarray, shape (S, m) or broadcast to it
        r(s, a) in the active states.
    ends : numpy.ndarray, shape (joint states,)
        Terminal values; those of active states are not used.
    temperature : float
        Price of entropy, positive.
    start : numpy.ndarray, shape (S, m), optional
        Policy to begin with; without it every action is equally likely.
    tolerance : float
        Change of the policy at which iteration stops; that of values is its square.

    Raises
    ------
    EndlessError
        If the bound is not reached, because staying pays more than it costs or nearly
        so.

    Examples
    --------
    One agent may wait, at a cost of 1, or go to where it wants to be, at the same cost.
    Then V = ln(e^(V - 1) + e^-1), so V = -ln(e - 1):

    >>> from dplib.planning.game import MarkovGame
    >>> step = [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]
    >>> door = MarkovGame(transitions=(step,), start=(0,), depends=((),),
    ...                   target=[False, True], dead=[False, False])
    >>> found = solve_soft(Backups(door), np.full((1, 2), -1.0), np.zeros(2),
    ...                    temperature=1.0)
    >>> bool(np.isclose(found.values[0], -np.log(np.e - 1)))
    True
    """
    team, active = backups.team, backups.active
    S, m = len(active), team.n_actions
    rewards = np.broadcast_to(rewards, (S, m))
    first = int(np.searchsorted(active, np.ravel_multi_index(team.start, team.shape)))
    policy = np.full((S, m), 1.0 / m) if start is None else start
    values = np.where(team.active.ravel(), 0.0, ends)
    largest = WITHOUT_BOUND * float(np.abs(rewards).max() + np.abs(values).max() + 1.0)
    for iteration in range(1, STEPS + 1):
        move = backups.under(policy)
        inner = move[:, active]
        try:
            factors: Any = splu(csc_array(eye_array(S) - inner))
        except RuntimeError:  # singular: the policy stays forever
            raise EndlessError("The policy never ends an episode.") from None
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = -np.nansum(policy * np.log(policy), axis=1)
        earned = np.sum(policy * rewards, axis=1) + temperature * entropy
        values[active] = 0.0
        own = factors.solve(earned + move @ values)
        if not np.abs(own).max() < largest:
            raise EndlessError("The values grow without bound: staying pays.")
        values[active] = own
        scores = (rewards + backups.mean(values)) / temperature
        best = temperature * logsumexp(scores, axis=1)
        residual = float(np.abs(best - own).max())
        scale = 1.0 + float(np.abs(own).max())
        better = np.exp(scores - best[:, None] / temperature)
        if np.abs(better - policy).max() <= tolerance:
            # Is own + slack above the best? One backup must not raise it.
            slack = max(2.0 * residual, 4e-16 * scale) * factors.solve(np.ones(S))
            values[active] = own + slack
            again = (rewards + backups.mean(values)) / temperature
            if np.all(temperature * logsumexp(again, axis=1) <= own + slack):
                unit = np.zeros(S)
                unit[first] = 1.0
                visits = factors.solve(unit, trans="T")
                return Soft(
                    values=own,
                    policy=policy,
                    visits=visits,
                    after=np.asarray(visits @ move),
                    residual=residual,
                    bound=float(slack[first]),
                    iterations=iteration,
                )
        policy = better / better.sum(axis=1, keepdims=True)
    raise EndlessError(
        f"A residual of {residual:.3g} after {STEPS} steps does not certify values."
    )
