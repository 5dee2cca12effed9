r"""What privacy costs: the true value of a policy that was made for noisy rewards.

Benvenuti et al., Section 5 (cost of privacy) and Section 8 (in percent; Figure 6
and Figure 8).

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
`StandardDraw` for all) arms are compared in pairs, sample by sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.mdp.batch import evaluate_many, solve_many
from dplib.mdp.policy_iteration import policy_iteration
from dplib.mdp.solve import Solution
from dplib.privacy.gaussian import analytic_sigma, kappa_sigma
from dplib.rewards.central import equally_private
from dplib.rewards.mechanism import Mechanism, mechanisms
from dplib.rewards.paper import Example

__all__ = ["ARMS", "Costs", "arms", "costs_of_privacy", "optimum"]

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


@lru_cache(maxsize=8)
def optimum(example: Example) -> Solution:
    """Return optimal values and a policy for the true rewards, by policy iteration.

    Each of the last examples is solved once.

    Examples
    --------
    >>> from dplib.rewards.paper import example_one
    >>> print(optimum(example_one(2, 0.75, discount=0.5)).values.round(9))
    [1.375 1.375 1.375 7.375]
    """
    return policy_iteration(example.model, example.rewards)


def costs_of_privacy(
    example: Example, noise: FloatArray, *, starts: Sequence[int] | None = None
) -> Costs:
    """Return what policies for noisy rewards cost in the true world.

    Parameters
    ----------
    example : Example
        The team.
    noise : numpy.ndarray, shape (S, n, m)
        Noise on the joint reward, for instance by
        `dplib.rewards.mechanism.Mechanism.noise`.
    starts : sequence of int, optional
        Joint start states; by default the example's own.

    Raises
    ------
    ValueError
        If the optimal value of a start is 0 within its error: there are no
        percentages of it.

    Examples
    --------
    Noise that makes the worst action the best, everywhere:

    >>> from dplib.rewards.paper import example_one
    >>> team = example_one(1, 1.0, discount=0.5)
    >>> noise = np.array([[[99.0, 0.0], [0.0, 99.0]]])
    >>> costs_of_privacy(team, noise).percent
    array([[150.]])
    """
    model, rewards, reference = example.model, example.rewards, optimum(example)
    at = [example.start] if starts is None else list(starts)
    best = reference.values[at]
    if np.any(np.abs(best) <= reference.bound):
        must = "states of a value other than 0, in percent of which costs are counted"
        check.fail("starts", "costs_of_privacy", must, at)
    noisy = rewards + noise
    found = solve_many(model, noisy)
    achieved = evaluate_many(model, rewards, found.policies)[:, at]
    goal = example.goal_state * model.n_actions + example.goal_action
    return Costs(
        percent=100.0 * np.abs(achieved - best) / np.abs(best),
        stays=found.policies[:, example.goal_state] == example.goal_action,
        largest=noisy.reshape(len(noisy), -1).argmax(axis=1) == goal,
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
        Adjacency parameter b, in the unit of the rewards.
    epsilon, delta : float
        As in `dplib.privacy.gaussian.analytic_sigma`; delta below 1/2.

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
