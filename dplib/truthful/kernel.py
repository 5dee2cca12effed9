r"""The compiled loop of Algorithm 2: several runs side by side on the same noise.

Hale & Egerstedt (arXiv 1509.08161), Algorithm 2. `dplib.truthful.algorithm` is the
way in, and says what the arrays mean. It is tested against the same computation in
plain numpy, and by the notebooks against the algorithm as printed.

Model. *Replicas* share every noise draw and differ only in who lies, and how. In each
step a replica's cloud sees the reported states :math:`r = x + \text{lie}`, perhaps with
noise v on them (input perturbation), and computes from :math:`s = r + v`

.. math::
   \tilde g = g(s) - \text{bias} + w_g, \qquad
   \tilde q = (g_x(s) + w)^T \mu ,

while agents use their own true states in :math:`\nabla f_i + \alpha_k x_i`.

Draws. A step takes from the generator, in this order, ``ceil(D / 53)`` uniforms and
then D standard exponentials, D being the number of noisy entries: reports, then g,
then entries of g_x. Each uniform holds 53 fair bits, lowest first; draw number d is
negated where bit ``d % 53`` of uniform ``d // 53`` is 0. An exponential with a random
sign is a Laplace variable of scale 1. (Ziggurat exponentials are several times faster
than logarithms, which is what most of a step is spent on.)

Sparsity. Row c of :math:`Q_j` is stored only if it, or :math:`a_{jc}`, is not zero, and
of it only what is not zero: a constraint between few agents costs little.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from dplib.compiled import CACHE

__all__ = [
    "BITS",
    "CONSTANT",
    "Draws",
    "PRETENCE",
    "Replicas",
    "Rows",
    "Sizes",
    "TRUTH",
    "advance",
    "project_multipliers",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Random bits in one uniform number of double precision.
BITS = 53

#: What an agent reports: its state, or a state that it makes up.
TRUTH, CONSTANT, PRETENCE = 0, 1, 2


class Rows(NamedTuple):
    """A problem as the loop needs it; rows of all Q_j one after the other."""

    starts: IntArray  # (N + 1,) first coordinate of each agent
    lower: FloatArray  # (n,)
    upper: FloatArray  # (n,)
    targets: FloatArray  # (n,)
    weights: FloatArray  # (n,)
    c: FloatArray  # (m,)
    first_row: IntArray  # (m + 1,) first stored row of each constraint
    coordinate: IntArray  # (rows,) coordinate c of the row
    linear: FloatArray  # (rows,) a[j, c]
    first_entry: IntArray  # (rows + 1,) first stored entry of each row
    column: IntArray  # (entries,)
    value: FloatArray  # (entries,) Q[j, c, column]


class Draws(NamedTuple):
    """Where noise is added, and how much; an empty array stands for no noise."""

    reports: FloatArray  # (n,) or (0,): scales
    g: FloatArray  # (m,) or (0,): scales
    scale: FloatArray  # (E,): scales of the noisy entries of g_x
    constraint: IntArray  # (E,): their constraints
    coordinate: IntArray  # (E,): their coordinates
    bias: FloatArray  # (m,): what the cloud subtracts from g


class Sizes(NamedTuple):
    """Step sizes gamma_k = gamma_bar k^-c2 and weights alpha_k = alpha_bar k^-c1."""

    gamma_bar: float
    c2: float
    alpha_bar: float
    c1: float
    first: int  # the value of k at the first step


class Replicas(NamedTuple):
    """Who reports what, for each of R replicas."""

    kind: IntArray  # (R, N): TRUTH, CONSTANT or PRETENCE
    shown: FloatArray  # (R, n): made-up states; those of a PRETENCE move
    targets: FloatArray  # (R, n): targets that a PRETENCE pretends to have
    weights: FloatArray  # (R, N): and weights
    budget: FloatArray  # (R, N): 1-norm that the lie may use up, or infinity


@numba.njit(cache=CACHE)
def _onto_multipliers(v: FloatArray, radius: float) -> bool:
    """Project v onto M in place; tell whether the bound on the sum acted."""
    m = v.size
    total = 0.0
    for j in range(m):
        total += max(v[j], 0.0)
    if total <= radius:
        for j in range(m):
            v[j] = max(v[j], 0.0)
        return False
    # From the largest entry down, so that huge entries keep the radius exact.
    descending = np.sort(v)[::-1]
    top = descending[0]
    running, theta = 0.0, 0.0
    for s in range(m):
        running += descending[s] - top
        shift = (running - radius) / (s + 1)
        if descending[s] - top > shift:
            theta = shift
    for j in range(m):
        v[j] = max((v[j] - top) - theta, 0.0)
    return True


def project_multipliers(v: FloatArray, radius: float) -> FloatArray:
    r"""Return the point of M that is nearest to v, in the 2-norm.

    M holds the vectors :math:`\mu \ge 0` with :math:`\|\mu\|_1 \le R`. If the
    positive part of v is in M, that is the answer; otherwise it is
    :math:`\max(v - \theta, 0)` with the shift :math:`\theta` that makes its 1-norm R.

    Examples
    --------
    >>> project_multipliers(np.array([3.0, 2.0, -1.0]), 3.0)
    array([2., 1., 0.])
    """
    nearest = np.array(v, dtype=np.float64)
    _onto_multipliers(nearest, radius)
    return nearest


@numba.njit(cache=CACHE)
def _draw(
    rng: np.random.Generator, scale: FloatArray, words: IntArray, noise: FloatArray
) -> None:
    """Fill `noise` with Laplace variables of the given scales; `words` is scratch."""
    count = noise.size
    for w in range(words.size):
        words[w] = np.int64(rng.random() * 9007199254740992.0)  # 2**53
    for w in range(words.size):
        bits = words[w]
        for d in range(w * BITS, min((w + 1) * BITS, count)):
            size = rng.standard_exponential() * scale[d]
            noise[d] = size if bits & 1 else -size
            bits >>= 1


@numba.njit(cache=CACHE)
def _report(
    starts: IntArray,
    shown: FloatArray,
    budget: FloatArray,
    r: int,
    i: int,
    spent: FloatArray,
    reported: FloatArray,
) -> None:
    """Write liar i's report over its true state, and what the lie uses up."""
    low, high = starts[i], starts[i + 1]
    distance = 0.0
    for c in range(low, high):
        distance += abs(shown[r, c] - reported[c])
    left = budget[r, i] - spent[r, i]
    if distance <= left:
        spent[r, i] += distance
        for c in range(low, high):
            reported[c] = shown[r, c]
    else:  # as far towards the lie as the budget goes
        share = max(left, 0.0) / distance
        spent[r, i] = budget[r, i]
        for c in range(low, high):
            reported[c] += share * (shown[r, c] - reported[c])


@numba.njit(cache=CACHE)
def _pretend(
    rows: Rows,
    replicas: Replicas,
    r: int,
    i: int,
    q: FloatArray,
    gamma: float,
    alpha: float,
) -> None:
    """Move the made-up state of pretender i by the rule of the true ones."""
    for c in range(rows.starts[i], rows.starts[i + 1]):
        y = replicas.shown[r, c]
        pull = replicas.weights[r, i] * (y - replicas.targets[r, c])
        y -= gamma * (pull + q[c] + alpha * y)
        replicas.shown[r, c] = min(max(y, rows.lower[c]), rows.upper[c])


@numba.njit(cache=CACHE)
def advance(
    rng: np.random.Generator,
    rows: Rows,
    draws: Draws,
    replicas: Replicas,
    x: FloatArray,
    mu: FloatArray,
    sizes: Sizes,
    radius: float,
    record: IntArray,
    kept_x: FloatArray,
    kept_mu: FloatArray,
    kept_spent: FloatArray,
) -> IntArray:
    """Run all replicas up to the last recorded step; fill the three records.

    Parameters
    ----------
    rng : numpy.random.Generator
        Advanced by what is drawn, as numpy itself would advance it.
    rows, draws, replicas, sizes
        Problem, noise, reports and step sizes. ``replicas.shown`` is changed.
    x : numpy.ndarray, shape (R, n)
        States at the start; changed.
    mu : numpy.ndarray, shape (R, m)
        Multipliers at the start; changed.
    radius : float
        Bound on the sum of the multipliers.
    record : numpy.ndarray of int, shape (r,)
        Ascending numbers of steps.
    kept_x, kept_mu, kept_spent : numpy.ndarray
        Of shapes (R, r, n), (R, r, m) and (R, r); filled.

    Returns
    -------
    numpy.ndarray of int, shape (R,)
        In how many steps the bound on the sum of the multipliers acted.
    """
    n_replicas, n = x.shape
    m = mu.shape[1]
    gamma_bar, c2, alpha_bar, c1, first = sizes
    # Locals: reaching into a tuple of arrays in a loop costs a reference count.
    lower, upper, targets, weights = rows.lower, rows.upper, rows.targets, rows.weights
    first_row, linear = rows.first_row, rows.linear
    first_entry, value = rows.first_entry, rows.value
    # Unsigned, so that no index is tested for being negative.
    coordinate, column = (
        rows.coordinate.astype(np.uint64),
        rows.column.astype(np.uint64),
    )
    constant = rows.c - draws.bias
    noisy_row, noisy_column = draws.constraint, draws.coordinate
    on_reports, on_g, on_rows = draws.reports.size, draws.g.size, draws.scale.size
    at_g, at_rows = on_reports, on_reports + on_g
    dense = on_rows == m * n  # then the entries are in order, row by row
    scale = np.concatenate((draws.reports, draws.g, draws.scale))
    noise = np.empty(scale.size)
    words = np.empty((scale.size + BITS - 1) // BITS, dtype=np.int64)
    on_entry = noise[at_rows:]
    table = on_entry.reshape(m, n) if dense else np.empty((0, n))
    slope = np.empty(linear.size)
    seen, q, ascent = np.empty(n), np.empty(n), np.empty(m)
    spent = np.zeros((n_replicas, replicas.kind.shape[1]))
    hits = np.zeros(n_replicas, dtype=np.int64)
    starts, kind = rows.starts, replicas.kind
    shown, budget = replicas.shown, replicas.budget
    # Liars of replica r are number first_liar[r] to first_liar[r + 1] of `liar`.
    liar = np.nonzero(kind)[1]
    first_liar = np.zeros(n_replicas + 1, dtype=np.int64)
    for r in range(n_replicas):
        first_liar[r + 1] = first_liar[r] + np.count_nonzero(kind[r])

    done = 0
    for at in range(record.size):
        for s in range(done, record[at]):
            k = float(first + s)
            gamma, alpha = gamma_bar * k**-c2, alpha_bar * k**-c1
            if noise.size > 0:
                _draw(rng, scale, words, noise)
            for r in range(n_replicas):
                for c in range(n):
                    seen[c] = x[r, c]
                    q[c] = 0.0
                for one in range(first_liar[r], first_liar[r + 1]):
                    _report(starts, shown, budget, r, liar[one], spent, seen)
                for d in range(on_reports):
                    seen[d] += noise[d]
                # What the cloud computes: rows of g_x, then q and g.
                for p in range(linear.size):
                    row = linear[p]
                    for e in range(first_entry[p], first_entry[p + 1]):
                        row += value[e] * seen[column[e]]
                    slope[p] = row
                for j in range(m):
                    g, price = constant[j], mu[r, j]
                    for p in range(first_row[j], first_row[j + 1]):
                        c = coordinate[p]
                        q[c] += price * slope[p]
                        g += 0.5 * (slope[p] + linear[p]) * seen[c]
                    if on_g > 0:
                        g += noise[at_g + j]
                    ascent[j] = price + gamma * (g - alpha * price)
                if dense:
                    for j in range(m):
                        price = mu[r, j]
                        for c in range(n):
                            q[c] += price * table[j, c]
                else:
                    for e in range(on_rows):
                        q[noisy_column[e]] += mu[r, noisy_row[e]] * on_entry[e]
                # What the agents do with it; a pretender moves both its states.
                for c in range(n):
                    y = x[r, c]
                    y -= gamma * (weights[c] * (y - targets[c]) + q[c] + alpha * y)
                    x[r, c] = min(max(y, lower[c]), upper[c])
                for one in range(first_liar[r], first_liar[r + 1]):
                    if kind[r, liar[one]] == PRETENCE:
                        _pretend(rows, replicas, r, liar[one], q, gamma, alpha)
                if _onto_multipliers(ascent, radius):
                    hits[r] += 1
                for j in range(m):
                    mu[r, j] = ascent[j]
        done = record[at]
        for r in range(n_replicas):
            kept_x[r, at] = x[r]
            kept_mu[r, at] = mu[r]
            kept_spent[r, at] = spent[r].sum()
    return hits
