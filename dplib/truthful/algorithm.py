r"""Step sizes of Theorem 1, and the steps at which a run is looked at.

Hale & Egerstedt (arXiv 1509.08161), Theorem 1 and Section VI. The algorithm itself is
`dplib.truthful.simulation`; the notebook 01_problem writes it out as printed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check

__all__ = ["StepSizes", "record_steps"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class StepSizes:
    r"""Step sizes and regularisation of Theorem 1; by default those of Section VI.

    :math:`\gamma_k = \bar\gamma k^{-c_2}`, :math:`\alpha_k = \bar\alpha k^{-c_1}`,
    with :math:`0 < c_1 < c_2` and :math:`c_1 + c_2 < 1`, without which the theorem
    does not apply.

    Parameters
    ----------
    gamma_bar, alpha_bar : float
        Sizes at k = 1, greater than zero.
    c1, c2 : float
        Exponents.
    first : int
        The value of k at the first step, 1 or greater. (The paper starts at
        k = 0, where both sizes are infinite.)

    Examples
    --------
    >>> sizes = StepSizes()
    >>> sizes.gamma(1), sizes.alpha(8), sizes.indices(3)
    (array(0.01), array(0.25), array([1, 2, 3]))
    """

    gamma_bar: float = 0.01
    alpha_bar: float = 0.5
    c1: float = 1 / 3
    c2: float = 3 / 5
    first: int = 1

    def __post_init__(self) -> None:
        where = "StepSizes"
        for name in ("gamma_bar", "alpha_bar", "c1", "c2"):
            check.positive(name, getattr(self, name), where)
        if not self.c1 < self.c2:
            must = f"less than 'c2', {self.c2} (Theorem 1)"
            check.fail("c1", where, must, self.c1)
        if not self.c1 + self.c2 < 1.0:
            must = f"less than 1 - 'c1', {1.0 - self.c1} (Theorem 1)"
            check.fail("c2", where, must, self.c2)
        check.integer("first", self.first, where, low=1)

    def gamma(self, k: ArrayLike) -> FloatArray:
        """Return the step size gamma_k for steps k >= 1."""
        return np.asarray(self.gamma_bar * np.asarray(k, np.float64) ** -self.c2)

    def alpha(self, k: ArrayLike) -> FloatArray:
        """Return the weight alpha_k of the regularisation for steps k >= 1."""
        return np.asarray(self.alpha_bar * np.asarray(k, np.float64) ** -self.c1)

    def indices(self, steps: int) -> IntArray:
        """Return the values of k of the first `steps` steps."""
        return np.arange(self.first, self.first + steps, dtype=np.int64)


def record_steps(steps: int, count: int = 200) -> IntArray:
    """Return about `count` numbers of steps from 0 to `steps`, log-spaced.

    0, 1 and `steps` are among them; small numbers come once each.

    Examples
    --------
    >>> record_steps(1000, 7)
    array([   0,    1,    4,   16,   63,  251, 1000])
    """
    spaced = np.rint(np.geomspace(1, steps, count - 1)).astype(np.int64)
    return np.unique(np.concatenate(([0], spaced, [steps])))
