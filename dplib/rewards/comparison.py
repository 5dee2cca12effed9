"""The mechanisms side by side: at one nominal privacy, and at one true privacy.

Benvenuti et al., Section 3.3, Table 1 and Remark 6, and beyond them.

Model. A mechanism is a `NoiseLaw` of the noise on the joint reward. *Nominal* privacy
is that of one reward by itself: all mechanisms are made for one deviation sigma. *True*
privacy is that of a reward seen through the joint reward (`dplib.rewards.central`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dplib import check
from dplib.rewards.balanced import balanced_output
from dplib.rewards.central import matched
from dplib.rewards.noise_law import (
    NoiseLaw,
    entry_variance,
    input_noise,
    paper_output,
    projected_output,
    tight_output,
)
from dplib.rewards.tables import action_counts

__all__ = ["MECHANISMS", "deviations", "equally_private", "mechanisms"]

MECHANISMS = ("printed", "exact", "projected", "input", "balanced")
"""Output noise as printed, with the exact norm, projected; input noise; balanced."""


def mechanisms(actions: Sequence[int], *, sigma: float) -> dict[str, NoiseLaw]:
    """Return all mechanisms at one nominal privacy.

    Parameters
    ----------
    actions : sequence of int
        Numbers of local actions m_i.
    sigma : float
        Deviation that protects one reward by itself, positive.

    Returns
    -------
    dict of str to NoiseLaw
        By the names in `MECHANISMS`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> laws = mechanisms([4, 4], sigma=1.0)
    >>> tuple(laws) == MECHANISMS
    True
    """
    counts = action_counts(actions, "mechanisms")
    sigma = check.positive("sigma", sigma, "mechanisms")
    makers = (
        paper_output,
        tight_output,
        projected_output,
        input_noise,
        balanced_output,
    )
    return {
        name: make(counts, sigma=sigma)
        for name, make in zip(MECHANISMS, makers, strict=True)
    }


def equally_private(
    actions: Sequence[int], *, bound: float, epsilon: float, delta: float
) -> dict[str, NoiseLaw]:
    """Return all mechanisms, each with true central privacy (epsilon, delta).

    Parameters
    ----------
    actions : sequence of int
        Numbers of local actions m_i.
    bound : float
        Adjacency parameter b, positive: one reward may differ by so much.
    epsilon, delta : float
        As in `dplib.privacy.gaussian.analytic_sigma`.

    Returns
    -------
    dict of str to NoiseLaw
        By the names in `MECHANISMS`; "printed" and "exact" are the same law.

    Examples
    --------
    >>> laws = equally_private([4, 4], bound=1.0, epsilon=1.0, delta=0.01)
    >>> sizes = deviations(laws)
    >>> round(sizes["input"] / sizes["projected"], 9)
    1.0
    """
    return {
        name: matched(law, bound=bound, epsilon=epsilon, delta=delta)
        for name, law in mechanisms(actions, sigma=1.0).items()
    }


def deviations(laws: Mapping[str, NoiseLaw]) -> dict[str, float]:
    """Return the standard deviation of one joint reward's noise, by mechanism.

    Examples
    --------
    >>> deviations({"exact": tight_output([4, 4], sigma=3.0)})
    {'exact': 3.0}
    """
    if not isinstance(laws, Mapping):
        must = "a mapping of names to noise laws"
        check.fail("laws", "deviations", must, laws, TypeError)
    return {name: math.sqrt(entry_variance(law)) for name, law in laws.items()}
