"""The agent with two states and two actions of the simplest example.

Benvenuti et al., Section 8.1, Figure 5.

Model. Action 0 (a in the paper) keeps the state with probability p and changes it
otherwise; action 1 (b) changes it with probability p and keeps it otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["two_state"]


def two_state(p: float) -> NDArray[np.float64]:
    """Return the transitions of the two-state agent, at ``[s, a, s']``.

    Examples
    --------
    >>> two_state(0.75)
    array([[[0.75, 0.25],
            [0.25, 0.75]],
    <BLANKLINE>
           [[0.25, 0.75],
            [0.75, 0.25]]])
    """
    q = 1.0 - p
    return np.array([[[p, q], [q, p]], [[q, p], [p, q]]])
