"""The agent with two states and two actions of the simplest example.

Benvenuti et al., Section 8.1, Figure 5.

Model. Action 0 (a in the paper) keeps the state with probability p and changes it
otherwise; action 1 (b) changes it with probability p and keeps it otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dplib import check

__all__ = ["two_state"]


def two_state(p: float) -> NDArray[np.float64]:
    """Return the transitions of the two-state agent.

    Parameters
    ----------
    p : float
        Probability that an action does what is meant, between 0 and 1.

    Returns
    -------
    numpy.ndarray, shape (2, 2, 2)
        Probability of s' after action a in state s, at ``[s, a, s']``.

    Raises
    ------
    TypeError, ValueError
        If p is not a probability.

    Examples
    --------
    >>> two_state(0.75)
    array([[[0.75, 0.25],
            [0.25, 0.75]],
    <BLANKLINE>
           [[0.25, 0.75],
            [0.75, 0.25]]])
    """
    keep = check.probability("p", p, "two_state")
    change = 1.0 - keep
    return np.array(
        [[[keep, change], [change, keep]], [[change, keep], [keep, change]]]
    )
