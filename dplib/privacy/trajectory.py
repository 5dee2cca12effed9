"""Laplace messages at every step, under one l1 budget for the whole trajectory.

Model. Data are a trajectory u(0), u(1), ... (for Hale & Egerstedt, arXiv
1509.08161, Theorem 2: the states of one agent). At every step k channel j sends
h_j(u(k)) + iid Lap(b_j), where h_j, which may depend on earlier messages, moves
by at most L_j in l1 per unit of l1 change of u(k). Adjacent trajectories differ by
at most B in l1, *summed over all steps*. Given the messages up to step k, the
log likelihood ratio of the next one is at most L_j |u(k) - u'(k)|_1 / b_j, and
the log likelihood ratio of the whole transcript is the sum of these:

    |loss| <= sum_k sum_j L_j |u(k) - u'(k)|_1 / b_j <= B sum_j L_j / b_j .

The number of steps does not appear: more steps share the same B. The argument
needs no independence of u from the messages. In closed loop, where u(k) is a
function of earlier messages, it holds if the two trajectories that the same
transcript produces differ by at most B for every transcript.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.privacy._numeric import FloatArray, exact, real_array, round_up
from dplib.privacy.adjacency import Adjacency
from dplib.privacy.composition import Release

__all__ = ["LaplaceChannel", "channel_release", "laplace_budget", "laplace_spending"]


@dataclass(frozen=True, kw_only=True)
class LaplaceChannel:
    """A message sent at every step with iid Laplace noise.

    Parameters
    ----------
    name : str
        What is sent, and to whom.
    sensitivity : float
        L: largest l1 change of the message per unit of l1 change of the data
        at that step, 0 or greater. It must hold for every earlier transcript.
    scale : float
        b: scale of the noise on every entry of the message, positive. A number
        that no float equals (1/3) is rounded down, and a sensitivity up.

    Raises
    ------
    TypeError, ValueError
        If a field is not as above.
    """

    name: str
    sensitivity: float
    scale: float

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            check.fail("name", "LaplaceChannel", "a string", self.name, TypeError)
        check.nonnegative("sensitivity", self.sensitivity, "LaplaceChannel")
        check.positive("scale", self.scale, "LaplaceChannel")
        object.__setattr__(self, "sensitivity", round_up(exact(self.sensitivity)))
        object.__setattr__(self, "scale", -round_up(-exact(self.scale)))


def channel_release(channel: LaplaceChannel, *, adjacency: Adjacency) -> Release:
    """Return the privacy of *all* messages of one channel, over any horizon.

    It is epsilon_j = B L_j / b_j, with B the radius of the adjacency. A single
    message has no less: one step may spend the whole of B. So the number is
    neither multiplied by the number of steps nor divided among them.

    Parameters
    ----------
    channel : LaplaceChannel
        The message and its noise.
    adjacency : Adjacency
        Must measure the l1 norm, of the whole trajectory.

    Raises
    ------
    TypeError, ValueError
        If the adjacency is not in the l1 norm.

    Examples
    --------
    >>> one = Adjacency(name="trajectory", unit="one agent's states at all times",
    ...                 norm="l1", radius=3.0)
    >>> message = LaplaceChannel(name="to agent 2", sensitivity=2.0, scale=12.0)
    >>> channel_release(message, adjacency=one).epsilon
    0.5
    """
    check.instance("channel", channel, "channel_release", LaplaceChannel)
    radius = _l1_radius(adjacency, "channel_release")
    return Release(
        name=channel.name,
        epsilon=round_up(radius * _per_unit([channel])),
        adjacency=adjacency,
    )


def laplace_budget(
    channels: Sequence[LaplaceChannel], *, adjacency: Adjacency, name: str
) -> Release:
    """Return the privacy of all messages of all channels: B sum_j L_j / b_j.

    This is the *horizon* epsilon, of everything that is sent at all steps
    together; it does not depend on how many steps there are, in open or closed
    loop (the proof is at the head of the file). It is the sum of the epsilons
    of the channels (`channel_release`), because one change of the data moves
    all channels at once. `laplace_spending` gives the *per-round* epsilons.

    Channels that only the owner of the data receives are left out by the
    caller if the promise is joint differential privacy, which is about what
    the others see.

    If each step may change by r on its own, the budget over T steps is B = T r:
    state that as the adjacency's radius, and epsilon grows with T as it should.

    Parameters
    ----------
    channels : sequence of LaplaceChannel
        At least one.
    adjacency : Adjacency
        Must measure the l1 norm, of the whole trajectory of the one whose
        privacy this is; its radius is B.
    name : str
        Name of the whole.

    Returns
    -------
    Release
        Pure (delta = 0); an upper bound, attained if one change of the data
        attains all sensitivities together. Rounded up.

    Raises
    ------
    TypeError, ValueError
        If there is no channel, or the adjacency is not in the l1 norm.

    Examples
    --------
    >>> one = Adjacency(name="trajectory", unit="one agent's states at all times",
    ...                 norm="l1", radius=3.0)
    >>> messages = [LaplaceChannel(name="gradient", sensitivity=2.0, scale=12.0),
    ...             LaplaceChannel(name="constraint", sensitivity=8.0, scale=32.0)]
    >>> laplace_budget(messages, adjacency=one, name="to all others").epsilon
    1.25
    """
    channels = check.sequence("channels", channels, "laplace_budget", LaplaceChannel)
    radius = _l1_radius(adjacency, "laplace_budget")
    return Release(
        name=name, epsilon=round_up(radius * _per_unit(channels)), adjacency=adjacency
    )


def laplace_spending(
    channels: Sequence[LaplaceChannel], *, distances: ArrayLike
) -> FloatArray:
    """Return how much epsilon each round costs, for one pair of trajectories.

    Parameters
    ----------
    channels : sequence of LaplaceChannel
        All messages of a round; at least one.
    distances : array_like, shape (rounds,)
        l1 distance of the two trajectories at each step, 0 or greater.

    Returns
    -------
    numpy.ndarray, shape (rounds,)
        Largest possible privacy loss of each round, each rounded up; inf where
        it overflows. Their sum bounds the loss of the horizon, and (but for
        that rounding) stays within `laplace_budget` exactly if the distances
        sum to at most the adjacency's radius.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> message = LaplaceChannel(name="to agent 2", sensitivity=2.0, scale=4.0)
    >>> print(laplace_spending([message], distances=[2.0, 1.0, 0.0]))
    [1.  0.5 0. ]
    """
    channels = check.sequence("channels", channels, "laplace_spending", LaplaceChannel)
    steps = real_array("distances", distances, "laplace_spending", low=0.0)
    if steps.ndim != 1:
        check.fail("distances", "laplace_spending", "an array with one axis", distances)
    rate = _per_unit(channels)
    return np.array([round_up(Fraction(step) * rate) for step in steps.tolist()])


def _per_unit(channels: Sequence[LaplaceChannel]) -> Fraction:
    """Sum of L_j / b_j, exactly: epsilon per unit of l1 change."""
    parts = (Fraction(one.sensitivity) / Fraction(one.scale) for one in channels)
    return sum(parts, Fraction(0))


def _l1_radius(adjacency: Adjacency, where: str) -> Fraction:
    check.instance("adjacency", adjacency, where, Adjacency)
    if adjacency.norm != "l1":
        check.fail("adjacency", where, "in the l1 norm", adjacency.norm)
    return Fraction(adjacency.radius)
