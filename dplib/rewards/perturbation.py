r"""Private joint rewards: noise on the inputs of J, or on its output.

Benvenuti et al., Sections 3.2 and 3.3, Algorithms 1 and 2, without their last step
(solving for a policy is post-processing, and free).

Model. Algorithm 1, *input perturbation*: every agent adds noise to its own table before
it sends it; the aggregator averages. Algorithm 2, *output perturbation*: the agents
send true tables, and the aggregator adds noise to their average, of a law of
`dplib.rewards.noise_law`.

Common random numbers. One `StandardDraw` serves all mechanisms and all sigma: the noise
is a linear image of it, so differences between mechanisms can be estimated in pairs.

Privacy is idealised: real arithmetic, see `dplib.privacy.gaussian`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.rewards.noise_law import NoiseLaw
from dplib.rewards.tables import (
    MOST_AXES,
    action_counts,
    few_entries,
    joint_reward,
    reward_tables,
)

__all__ = [
    "StandardDraw",
    "effects",
    "joint_noise",
    "perturb_output",
    "perturb_tables",
    "standard_draw",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StandardDraw:
    """Standard normals from which the noise of every mechanism is made.

    Parameters
    ----------
    entries : numpy.ndarray, shape (samples, n, m)
        One number for every joint reward.
    extra : numpy.ndarray, shape (samples, n)
        One number for every state: the constant that only Algorithm 1 adds.
    """

    entries: FloatArray
    extra: FloatArray

    def __post_init__(self) -> None:
        where = "StandardDraw"
        entries = check.array("entries", self.entries, where, shape=(None,) * 3)
        extra = check.array("extra", self.extra, where, shape=entries.shape[:2])
        object.__setattr__(self, "entries", entries)
        object.__setattr__(self, "extra", extra)


def standard_draw(
    n_states: int,
    actions: Sequence[int],
    *,
    samples: int,
    rng: np.random.Generator,
) -> StandardDraw:
    """Return independent standard normals for `samples` private joint rewards.

    Parameters
    ----------
    n_states : int
        Number of joint states n.
    actions : sequence of int
        Numbers of local actions m_i.
    samples : int
        Number of samples, 1 or more.
    rng : numpy.random.Generator
        Source of randomness.

    Examples
    --------
    >>> draw = standard_draw(3, [2, 2], samples=5, rng=np.random.default_rng(0))
    >>> draw.entries.shape, draw.extra.shape
    ((5, 3, 4), (5, 3))
    """
    where = "standard_draw"
    n = check.integer("n_states", n_states, where, low=1)
    m = math.prod(action_counts(actions, where))
    samples = check.integer("samples", samples, where, low=1)
    few_entries(actions, width=m, n_states=n, samples=samples, where=where)
    check.instance("rng", rng, where, np.random.Generator)
    normals = rng.standard_normal((samples, n, m))
    return StandardDraw(normals, rng.standard_normal((samples, n)))


def joint_noise(law: NoiseLaw, draw: StandardDraw) -> FloatArray:
    """Return the noise of `law` that belongs to `draw`.

    Linear in the deviation: the noise of ``law.scaled(c)`` is c times that of `law`.
    With one draw, Algorithm 1's noise is the projected output noise plus the extra
    constant per state.

    Parameters
    ----------
    law : NoiseLaw
        The mechanism, for at most 60 agents.
    draw : StandardDraw
        Standard normals for its actions.

    Returns
    -------
    numpy.ndarray, shape (samples, n, m)

    Raises
    ------
    TypeError, ValueError
        If the draw is for another number of joint actions, or an argument is not as
        above.

    Examples
    --------
    >>> from dplib.rewards.noise_law import input_noise, projected_output
    >>> draw = standard_draw(1, [2, 2], samples=1, rng=np.random.default_rng(0))
    >>> gap = (joint_noise(input_noise([2, 2], sigma=3.0), draw)
    ...        - joint_noise(projected_output([2, 2], sigma=3.0), draw))
    >>> print(np.allclose(gap, np.sqrt(9 / 8) * draw.extra[0, 0]))
    True
    """
    check.instance("law", law, "joint_noise", NoiseLaw)
    check.instance("draw", draw, "joint_noise", StandardDraw)
    m = law.n_actions
    if law.n_agents > MOST_AXES:
        must = f"for at most {MOST_AXES} agents"
        check.fail("law", "joint_noise", must, law.n_agents)
    if draw.entries.shape[-1] != m:
        must = f"a draw for {m} joint actions"
        check.fail("draw", "joint_noise", must, draw.entries.shape)
    mean, own, rest = effects(draw.entries, law.actions)
    shape = draw.entries.shape
    # Per agent along its own axis; numpy broadcasts the sum over joint actions.
    total = math.sqrt(law.constant - law.extra) * mean
    total = total + math.sqrt(law.extra / m) * draw.extra
    grid = total.reshape(*shape[:2], *(1,) * law.n_agents)
    for i, (variance, part) in enumerate(zip(law.agents, own, strict=True)):
        axes = [1] * law.n_agents
        axes[i] = law.actions[i]
        grid = grid + math.sqrt(variance) * part.reshape(*shape[:2], *axes)
    noise = grid.reshape(shape)
    if law.rest > 0.0:
        noise = noise + math.sqrt(law.rest) * rest
    return np.asarray(noise)


def effects(
    rows: ArrayLike, actions: Sequence[int]
) -> tuple[FloatArray, tuple[FloatArray, ...], FloatArray]:
    """Split rows over joint actions into mean, agents' own effects, and the rest.

    The first two parts are the orthogonal projection on the range of J.

    Parameters
    ----------
    rows : array_like, shape (..., m)
        Numbers for every joint action, in C order.
    actions : sequence of int
        Numbers of local actions m_i, of at most 60 agents.

    Returns
    -------
    mean : numpy.ndarray, shape (...)
        Mean over all joint actions.
    own : tuple of numpy.ndarray, shapes (..., m_i)
        For each of agent i's actions the mean over the others', less `mean`.
    rest : numpy.ndarray, shape (..., m)
        What is left.

    Examples
    --------
    >>> mean, own, rest = effects([0.0, 1.0, 2.0, 5.0], [2, 2])
    >>> print(mean, own[0], own[1], rest)
    2.0 [-1.5  1.5] [-1.  1.] [ 0.5 -0.5 -0.5  0.5]
    """
    counts = action_counts(actions, "effects")
    m, N = math.prod(counts), len(counts)
    if N > MOST_AXES:
        check.fail("actions", "effects", f"those of at most {MOST_AXES} agents", N)
    raw = check.entries("rows", rows, "effects", f"an array of shape (..., {m})")
    if raw.ndim == 0 or raw.shape[-1] != m:
        must = f"an array of shape (..., {m})"
        check.fail("rows", "effects", must, raw.shape)
    flat = check.array("rows", raw.reshape(-1, m), "effects", shape=(None, m))
    grid = flat.reshape(-1, *counts)
    mean = flat.mean(axis=1)
    own, rest = [], grid - mean.reshape(-1, *(1,) * N)
    for i, count in enumerate(counts):
        others = tuple(1 + k for k in range(N) if k != i)
        part = (grid.mean(axis=others) if others else grid) - mean[:, None]
        own.append(part.reshape(*raw.shape[:-1], count))
        axes = [1] * N
        axes[i] = count
        rest = rest - part.reshape(-1, *axes)
    left = np.asarray(rest.reshape(raw.shape))
    return np.asarray(mean.reshape(raw.shape[:-1])), tuple(own), left


def perturb_tables(
    tables: Sequence[ArrayLike],
    *,
    sigma: float | Sequence[float],
    rng: np.random.Generator,
) -> tuple[FloatArray, ...]:
    """Return the tables as the agents send them in Algorithm 1 (lines 3 to 7).

    Parameters
    ----------
    tables : sequence of array_like, shapes (n, m_i)
        Sensitive rewards.
    sigma : float or sequence of float
        Deviation of the noise, positive; or every agent's own, which is how
        each chooses its own strength of privacy.
    rng : numpy.random.Generator
        Source of randomness. (In practice each agent has its own.)

    Returns
    -------
    tuple of numpy.ndarray, shapes (n, m_i)
        Private rewards. ``joint_reward`` of them is line 8, with the tilde that the
        printed line lacks.

    Examples
    --------
    >>> sent = perturb_tables([[[0.0, 0.0]], [[0.0]]], sigma=[1.0, 5.0],
    ...                       rng=np.random.default_rng(0))
    >>> [table.shape for table in sent]
    [(1, 2), (1, 1)]
    """
    where = "perturb_tables"
    arrays = reward_tables(tables, where)
    check.instance("rng", rng, where, np.random.Generator)
    if isinstance(sigma, Sequence):
        if len(sigma) != len(arrays):
            check.fail("sigma", where, "one deviation for every agent", sigma)
        scales = [check.positive("sigma", one, where) for one in sigma]
    else:
        scales = [check.positive("sigma", sigma, where)] * len(arrays)
    return tuple(
        np.asarray(table + scale * rng.standard_normal(table.shape))
        for table, scale in zip(arrays, scales, strict=True)
    )


def perturb_output(
    tables: Sequence[ArrayLike], *, law: NoiseLaw, rng: np.random.Generator
) -> FloatArray:
    """Return the private joint reward that a trusted aggregator makes (Algorithm 2).

    Parameters
    ----------
    tables : sequence of array_like, shapes (n, m_i)
        Sensitive rewards, as the agents send them.
    law : NoiseLaw
        For instance `paper_output` (the printed algorithm) or `projected_output`.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    numpy.ndarray, shape (n, m)

    Raises
    ------
    TypeError, ValueError
        If the law is for other numbers of actions.

    Examples
    --------
    >>> from dplib.rewards.noise_law import paper_output
    >>> law = paper_output([2, 2], sigma=1.0)
    >>> perturb_output([[[0.0, 0.0]]] * 2, law=law, rng=np.random.default_rng(0)).shape
    (1, 4)
    """
    arrays = reward_tables(tables, "perturb_output", batched=False)
    check.instance("law", law, "perturb_output", NoiseLaw)
    counts = tuple(table.shape[1] for table in arrays)
    if counts != law.actions:
        check.fail("law", "perturb_output", f"for actions {counts}", law.actions)
    draw = standard_draw(arrays[0].shape[0], counts, samples=1, rng=rng)
    return np.asarray(joint_reward(arrays) + joint_noise(law, draw)[0])
