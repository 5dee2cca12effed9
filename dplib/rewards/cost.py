r"""What privacy costs: the true value of a policy that was made for noisy rewards.

Benvenuti et al., Section 5 (cost of privacy) and Section 8 (in percent).

Model. :math:`\tilde\pi` is an optimal policy for the private joint reward
:math:`r + \text{noise}`. It is followed in the true world, where it earns
:math:`v_{\tilde\pi}(s_0)`, computed exactly under the true r. Its cost is

.. math:: 100 \, \frac{|v_{\tilde\pi}(s_0) - v^*(s_0)|}{|v^*(s_0)|}

percent. It is a random number; what is reported is its mean over the noise. Above 100
the policy does worse than earning nothing.

*Arms*, all for one (epsilon, delta) and one bound b on the change of a reward:

- "nominal": one reward by itself is protected, sigma by the paper's kappa;
- "analytic": the same, with the least sigma that is (epsilon, delta)-private;
- "matched": every mechanism scaled so that a reward *seen through the joint reward* has
  exactly (epsilon, delta): the same true central privacy for all. (For projected output
  noise this is the analytic sigma.)

Mechanisms are named as in `dplib.rewards.mechanism`. With common random numbers (one
`StandardDraw` for all) differences between arms are estimated in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dplib import check
from dplib.mdp.batch import evaluate_many, solve_many
from dplib.mdp.policy_iteration import policy_iteration
from dplib.mdp.solve import Solution
from dplib.privacy.gaussian import analytic_sigma, kappa_sigma
from dplib.rewards.central import equally_private
from dplib.rewards.examples import Example
from dplib.rewards.mechanism import Mechanism, mechanisms

__all__ = [
    "ARMS",
    "Costs",
    "Estimate",
    "arms",
    "cost_percent",
    "costs_of_privacy",
    "mean_estimate",
    "optimum",
    "paired_estimate",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

ARMS = (
    *(("nominal", name) for name in ("input", "printed", "exact", "projected")),
    ("analytic", "input"),
    *(("matched", name) for name in ("input", "exact", "projected", "balanced")),
)
"""Arms of the comparison: how sigma is chosen, and the mechanism."""


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of privacy of S samples of one arm.

    Attributes
    ----------
    percent : numpy.ndarray, shape (S, K)
        Cost of each sample, for each of K start states.
    stays : numpy.ndarray of bool, shape (S,)
        Whether the private policy takes the goal action in the goal state.
    largest : numpy.ndarray of bool, shape (S,)
        Whether the goal pair still has the largest private joint reward.
    iterations : numpy.ndarray of int, shape (S,)
        Backups of modified policy iteration.
    bound : numpy.ndarray, shape (S,)
        Certified error of the values that the policies are taken from: for its own
        rewards a policy loses at most twice that.
    """

    percent: FloatArray
    stays: BoolArray
    largest: BoolArray
    iterations: IntArray
    bound: FloatArray


@dataclass(frozen=True)
class Estimate:
    """A mean with its confidence interval.

    Attributes
    ----------
    mean : float
        Mean of the sample.
    error : float
        Standard error of the mean.
    half : float
        Half the width of the confidence interval: the mean plus or minus this.
    """

    mean: float
    error: float
    half: float


def optimum(example: Example) -> Solution:
    """Return optimal values and a policy for the true rewards, by policy iteration.

    Examples
    --------
    >>> from dplib.rewards.examples import example_one
    >>> print(optimum(example_one(2, 0.75, discount=0.5)).values.round(9))
    [1.375 1.375 1.375 7.375]
    """
    check.instance("example", example, "optimum", Example)
    return policy_iteration(example.model, example.rewards)


def cost_percent(achieved: ArrayLike, optimal: ArrayLike) -> FloatArray:
    """Return the cost of privacy in percent of the optimal value.

    Parameters
    ----------
    achieved : array_like, shape (..., K)
        True values of private policies at K start states.
    optimal : array_like, shape (K,)
        Optimal values there; none may be 0.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> cost_percent([[3.0, -1.0], [4.0, 2.0]], [4.0, 2.0])
    array([[ 25., 150.],
           [  0.,   0.]])
    """
    where = "cost_percent"
    best = check.array("optimal", optimal, where, shape=(None,))
    if not np.all(best):
        check.fail("optimal", where, "values other than 0", best.tolist())
    raw = check.entries("achieved", achieved, where, "an array of values")
    if raw.ndim == 0 or raw.shape[-1] != best.size:
        check.fail("achieved", where, f"of shape (..., {best.size})", raw.shape)
    true = check.array("achieved", achieved, where, shape=(None,) * raw.ndim)
    return np.asarray(100.0 * np.abs(true - best) / np.abs(best))


def costs_of_privacy(
    example: Example,
    noise: ArrayLike,
    *,
    reference: Solution | None = None,
    starts: Sequence[int] | None = None,
) -> Costs:
    """Return what policies for noisy rewards cost in the true world.

    Parameters
    ----------
    example : Example
        The team.
    noise : array_like, shape (S, n, m)
        Noise on the joint reward, for instance by
        `dplib.rewards.mechanism.Mechanism.noise`.
    reference : Solution, optional
        `optimum` of the example, if it is at hand.
    starts : sequence of int, optional
        Joint start states; by default the example's own.

    Returns
    -------
    Costs

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    Noise that makes the worst action the best, everywhere:

    >>> from dplib.rewards.examples import example_one
    >>> team = example_one(1, 1.0, discount=0.5)
    >>> noise = np.array([[[99.0, 0.0], [0.0, 99.0]]])
    >>> costs_of_privacy(team, noise).percent
    array([[150.]])
    """
    where = "costs_of_privacy"
    check.instance("example", example, where, Example)
    model, rewards = example.model, example.rewards
    shape = (None, model.n_states, model.n_actions)
    noisy = rewards + check.array("noise", noise, where, shape=shape)
    if reference is None:
        reference = optimum(example)
    check.instance("reference", reference, where, Solution)
    best = reference.values
    # Values within a bound of the optimum change by at most twice that in a backup.
    gain = (rewards + model.discount * model.expected(best)).max(axis=1) - best
    if np.abs(gain).max() > 2.0 * reference.bound:
        check.fail("reference", where, "the optimum of this example", best)
    given = [example.start] if starts is None else starts
    must = f"a sequence of states from 0 to {model.n_states - 1}"
    at = list(given) if isinstance(given, Iterable) else []
    if not at:
        check.fail("starts", where, must, given)
    for state in at:
        check.integer("starts", state, where, low=0, high=model.n_states - 1)
    # A value within its error of 0 has no percentages.
    if np.any(np.abs(best[at]) <= reference.bound):
        must = "states of a value other than 0, in percent of which costs are counted"
        check.fail("starts", where, must, at)
    found = solve_many(model, noisy)
    achieved = evaluate_many(model, rewards, found.policies)
    goal = example.goal_state * model.n_actions + example.goal_action
    return Costs(
        percent=cost_percent(achieved[:, at], best[at]),
        stays=np.asarray(found.policies[:, example.goal_state] == example.goal_action),
        largest=np.asarray(noisy.reshape(noisy.shape[0], -1).argmax(axis=1) == goal),
        iterations=found.iterations,
        bound=found.bound,
    )


def arms(
    actions: Sequence[int], *, bound: float, epsilon: float, delta: float
) -> dict[tuple[str, str], Mechanism]:
    """Return the noise of every arm in `ARMS`.

    Parameters
    ----------
    actions : sequence of int
        Numbers of local actions m_i.
    bound : float
        Adjacency parameter b, positive, in the unit of the rewards.
    epsilon, delta : float
        As in `dplib.privacy.gaussian.analytic_sigma`; delta below 1/2.

    Returns
    -------
    dict of (str, str) to Mechanism

    Examples
    --------
    >>> noises = arms([5, 5], bound=1.0, epsilon=1.0, delta=0.1)
    >>> sizes = {arm: noise.deviation for arm, noise in noises.items()}
    >>> round(sizes["nominal", "printed"] / sizes["nominal", "exact"] * 5**0.5, 9)
    5.0
    >>> round(sizes["matched", "input"] / sizes["matched", "projected"], 9)
    1.0
    """
    sizes = {"sensitivity": bound, "epsilon": epsilon, "delta": delta}
    groups = {
        "nominal": mechanisms(actions, sigma=kappa_sigma(**sizes)),
        "analytic": mechanisms(actions, sigma=analytic_sigma(**sizes)),
        "matched": equally_private(actions, bound=bound, epsilon=epsilon, delta=delta),
    }
    return {(group, name): groups[group][name] for group, name in ARMS}


def mean_estimate(sample: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return the mean of independent numbers, with Student's interval.

    Parameters
    ----------
    sample : array_like, shape (S,)
        Two numbers or more.
    confidence : float
        Strictly between 0 and 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> mean_estimate([1.0, 3.0]).mean, mean_estimate([1.0, 3.0]).error
    (2.0, 1.0)
    """
    return _estimate(sample, confidence, "mean_estimate")


def paired_estimate(
    first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95
) -> Estimate:
    """Return the mean of `first` - `second`, sample by sample on common noise.

    Arguments as in `mean_estimate`; the two have the same length.

    Examples
    --------
    >>> paired_estimate([1.0, 9.0, 5.0], [0.0, 8.0, 4.0]).mean
    1.0
    >>> paired_estimate([1.0, 9.0, 5.0], [0.0, 8.0, 4.0]).error
    0.0
    """
    where = "paired_estimate"
    one = check.array("first", first, where, shape=(None,))
    two = check.array("second", second, where, shape=one.shape)
    return _estimate(one - two, confidence, where)


def _estimate(sample: ArrayLike, confidence: float, where: str) -> Estimate:
    x = check.array("sample", sample, where, shape=(None,))
    if x.size < 2:
        check.fail("sample", where, "two numbers or more", x.tolist())
    confidence = check.unit_interval("confidence", confidence, where)
    error = float(x.std(ddof=1)) / math.sqrt(x.size)
    quantile = float(stats.t.ppf(0.5 + 0.5 * confidence, x.size - 1))
    return Estimate(float(x.mean()), error, quantile * error)
