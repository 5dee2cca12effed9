"""Laplace messages at every step, under one l1 budget for the whole trajectory.

Model. Data are a trajectory u(0), u(1), ... (for Hale & Egerstedt, arXiv 1509.08161,
Theorem 2: the states of one agent). At every step k channel j sends
h_j(u(k)) + iid Lap(b_j), where h_j, which may depend on earlier messages, moves by at
most L_j in l1 per unit of l1 change of u(k). Adjacent trajectories differ by at most B
in l1, *summed over all steps*. Given the messages up to step k, the log likelihood
ratio of the next one is at most L_j |u(k) - u'(k)|_1 / b_j, and the log likelihood
ratio of the whole transcript is the sum of these:

    |loss| <= sum_k sum_j L_j |u(k) - u'(k)|_1 / b_j <= B sum_j L_j / b_j .

The number of steps does not appear: more steps share the same B, and one step may
spend the whole of it. The argument needs no independence of u from the messages. In
closed loop, where u(k) is a function of earlier messages, it holds if the two
trajectories that the same transcript produces differ by at most B for every transcript.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dplib import check
from dplib.privacy._numeric import round_up
from dplib.privacy.adjacency import Adjacency
from dplib.privacy.composition import Release

__all__ = ["LaplaceChannel", "laplace_budget"]


@dataclass(frozen=True, kw_only=True)
class LaplaceChannel:
    """A message sent at every step with iid Laplace noise.

    Parameters
    ----------
    name : str
        What is sent, and to whom.
    sensitivity : float
        L: largest l1 change of the message per unit of l1 change of the data at that
        step, 0 or greater. It must hold for every earlier transcript.
    scale : float
        b: scale of the noise on every entry of the message, positive.
    """

    name: str
    sensitivity: float
    scale: float

    def __post_init__(self) -> None:
        sensitivity = check.nonnegative(
            "sensitivity", self.sensitivity, "LaplaceChannel"
        )
        object.__setattr__(self, "sensitivity", sensitivity)
        scale = check.positive("scale", self.scale, "LaplaceChannel")
        object.__setattr__(self, "scale", scale)


def laplace_budget(
    channels: Sequence[LaplaceChannel], *, adjacency: Adjacency, name: str
) -> Release:
    """Return the privacy of all messages of all channels: B sum_j L_j / b_j.

    This is the *horizon* epsilon, of everything that is sent at all steps together,
    in open or closed loop. One change of the data moves all channels at once, so the
    epsilons B L_j / b_j of the channels add. Rounded up; attained if one change of the
    data attains all sensitivities together.

    Parameters
    ----------
    channels : sequence of LaplaceChannel
        Channels that only the owner of the data receives are left out by the caller
        if the promise is joint differential privacy.
    adjacency : Adjacency
        In the l1 norm of the whole trajectory; its radius is B. If each step may
        change by r on its own, state B = T r for T steps.
    name : str
        Name of the whole.

    Examples
    --------
    >>> one = Adjacency(name="trajectory", unit="one agent's states at all times",
    ...                 norm="l1", radius=3.0)
    >>> messages = [LaplaceChannel(name="gradient", sensitivity=2.0, scale=12.0),
    ...             LaplaceChannel(name="constraint", sensitivity=8.0, scale=32.0)]
    >>> laplace_budget(messages, adjacency=one, name="to all others").epsilon
    1.25
    """
    if adjacency.norm != "l1":
        check.fail("adjacency", "laplace_budget", "in the l1 norm", adjacency.norm)
    parts = (Fraction(one.sensitivity) / Fraction(one.scale) for one in channels)
    epsilon = round_up(Fraction(adjacency.radius) * sum(parts, Fraction(0)))
    return Release(name=name, epsilon=epsilon, adjacency=adjacency)
