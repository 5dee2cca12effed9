r"""What would deter: a bound on the gain that shrinks with the lie.

Hale & Egerstedt (arXiv 1509.08161), Definition 1 and Section V. The bound is not the
paper's: Theorem 3 needs no privacy (`dplib.truthful.incentives`), this one does.

Model. Agent i's states are :math:`x_i(k)`, its reports :math:`r_i(k)`. The *size* of
the lie is the sum over all steps of :math:`\|r_i(k) - x_i(k)\|_1`; a lie of size at
most B is adjacent to the truth (given the other agents' reports).

Theorem. Let all that the cloud sends, to agent i itself too, be
:math:`\epsilon`-private in the sense of `dplib.privacy.trajectory` for reports that
change by B in 1-norm over all time. Suppose a lie has size at most D whatever the
replies are, and stays in X_i. Then with :math:`h = f_i - \min f_i` at any step,

.. math::
   E_{true}\, h \le e^{\epsilon D / B} E_{lie}\, h, \qquad
   \text{gain} \le (1 - e^{-\epsilon D / B})\, E_{true}\, h .

Proof. The log likelihood ratio of a transcript of all replies is at most the sum over
steps of the privacy spent, :math:`\epsilon D / B` in all: it is linear in the size.
Given the transcript agent i's *true* states are the same in both runs, and
:math:`h \ge 0` is a function of them.

It is attained: report a point D below an honest 0, get the report back with Laplace
noise, follow it to the nearest point of [0, 1], and pay :math:`x^2/2`. (Above 0 the
density of the reply is smaller by exactly :math:`e^{-\epsilon D/B}`.)

It needs no diameter and no Lipschitz constant of f_i, and tends to 0 with
:math:`\epsilon D`. For a lie that goes on forever it says that the gain is at most the
whole cost, which is true of anything. Joint privacy, which leaves the reply to agent i
out, is not enough: that reply is all that moves agent i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check

__all__ = ["deviation", "gain_bound"]

FloatArray = NDArray[np.float64]


def deviation(truth: ArrayLike, reported: ArrayLike) -> FloatArray:
    r"""Return how far a report is from the truth at each step, in the 1-norm.

    Source: Definition 1 with p = 1. Two signals are adjacent if the sum of these
    distances over all time is at most B (and the other agents' are equal).

    Parameters
    ----------
    truth : array_like, shape (steps, n_i)
        Agent i's states.
    reported : array_like, shape (steps, n_i) or (n_i,)
        What it reports; one vector stands for the same report at every step.

    Returns
    -------
    numpy.ndarray, shape (steps,)
        Distances.

    Raises
    ------
    TypeError, ValueError
        If the shapes do not match, or a number is not finite.

    Examples
    --------
    >>> deviation([[0, 0], [3, 4]], [10, 10])
    array([20., 13.])
    """
    where = "deviation"
    states = check.array("truth", truth, where, shape=(None, None))
    given = check.entries("reported", reported, where, "an array of rows")
    shape = states.shape if given.ndim == 2 else states.shape[1:]
    said = check.array("reported", given, where, shape=shape)
    return np.asarray(np.abs(states - said).sum(axis=1))


def gain_bound(cost: float, *, epsilon: float, lie: float, B: float) -> float:
    r"""Return the most that a lie of limited size can gain, if all replies are private.

    Source: this book (the theorem at the head of the file):
    :math:`(1 - e^{-\epsilon D / B})` times the cost at stake.

    Parameters
    ----------
    cost : float
        Expected cost of the truthful agent, less the least value of f_i over X_i;
        0 or greater.
    epsilon : float
        Privacy of *all* replies together, over the whole run, for reports that
        change by B; greater than zero.
    lie : float
        D, bound on the sum over all steps of the 1-norm of report minus state;
        0 or greater. May be infinite.
    B : float
        Radius of the adjacency that epsilon is for, greater than zero.

    Returns
    -------
    float
        Between 0 and `cost`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> gain_bound(96.0, epsilon=float(np.log(2)), lie=6.0, B=3.0)
    72.0
    >>> gain_bound(96.0, epsilon=0.1, lie=float("inf"), B=3.0)
    96.0
    """
    where = "gain_bound"
    cost = check.nonnegative("cost", cost, where)
    epsilon = check.positive("epsilon", epsilon, where)
    B = check.positive("B", B, where)
    if not (isinstance(lie, float) and lie == np.inf):
        lie = check.nonnegative("lie", lie, where)
    return float(-np.expm1(-epsilon * (lie / B)) * cost)
