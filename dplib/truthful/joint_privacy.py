r"""What Algorithm 2 promises to each agent: upper bounds by composition.

Hale & Egerstedt (arXiv 1509.08161), Section III-B and Theorem 2.

Model. The reports of agent i enter the noisy gradient :math:`g_{x_j} + w_j` of every
agent j that shares a constraint with it, and, through the noisy constraint values
:math:`g + w_g`, every price. All messages :math:`\tilde q_j(k)` are functions of these,
so the messages hide what these hide. By `dplib.privacy.trajectory`, if the reports of
agent i change by at most B in l1 over *all* steps, the loss of everything that the
set J of receivers gets is at most

.. math:: \varepsilon_i = B \Bigl[\frac{K_{g,i}}{b_g}
          + \sum_{j \in J} \frac{L_{j \leftarrow i}}{b_j}\Bigr] .

``receivers="others"`` (J all agents but i) is joint differential privacy;
``"all"`` is ordinary differential privacy; a collection of agents is what these
agents learn if they put their messages together.

Open loop and closed loop. The bound holds for report trajectories that are fixed in
advance (one Laplace release of the stacked signal), and for reports that answer to the
messages, if for *every* transcript of the noisy quantities the reports of agent i under
the two data differ by at most B: given the transcript the losses of the steps add, and
so do the distances. The reports of all other agents are functions of the transcript,
and so are equal under both. `closed_loop_length` says how much of B an agent uses up
that starts elsewhere and then follows the algorithm.

Pure epsilon, idealised (real arithmetic), and only while reports stay in the boxes:
outside of them a quadratic g has no Lipschitz constant.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.privacy.adjacency import Adjacency
from dplib.privacy.composition import Release
from dplib.privacy.trajectory import LaplaceChannel, laplace_budget
from dplib.truthful.algorithm import StepSizes
from dplib.truthful.constants import constraint_lipschitz, influence
from dplib.truthful.noise import NoiseScales, matching, trajectory_radius
from dplib.truthful.problem import Problem, agent, constraints, jacobian

__all__ = [
    "agent_channels",
    "calibrated_factors",
    "closed_loop_length",
    "joint_epsilons",
    "joint_release",
    "receiving_agents",
    "transcript_loss",
]

FloatArray = NDArray[np.float64]
Receivers = str | Collection[int]


def receiving_agents(problem: Problem, *, i: int, receivers: Receivers) -> list[int]:
    """Return the agents whose messages count, ascending.

    Parameters
    ----------
    problem : Problem
        The instance.
    i : int
        The agent whose privacy is meant, 0 to N - 1.
    receivers : {"others", "all"} or collection of int
        See the head of the file.

    Raises
    ------
    TypeError, ValueError
        If there is no such agent, or `receivers` is another word.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> receiving_agents(hale_egerstedt(), i=5, receivers="others")
    [0, 1, 2, 3, 4, 6, 7]
    """
    check.instance("problem", problem, "receiving_agents", Problem)
    where = "receiving_agents"
    last = problem.n_agents - 1
    i = check.integer("i", i, where, low=0, high=last)
    if isinstance(receivers, str):
        check.member("receivers", receivers, where, ("others", "all"))
        return [j for j in range(last + 1) if j != i or receivers == "all"]
    return _agents(problem, receivers, "a word or a collection of agents", where)


def _agents(
    problem: Problem, receivers: Collection[int], must: str, where: str
) -> list[int]:
    """Check a collection of agents; one that is named twice counts once."""
    if (
        not isinstance(receivers, Collection)
        or isinstance(receivers, str | bytes)
        or (isinstance(receivers, np.ndarray) and receivers.ndim != 1)
    ):
        check.fail("receivers", where, must, receivers, TypeError)
    last = problem.n_agents - 1
    return sorted(
        {check.integer("receivers", j, where, low=0, high=last) for j in receivers}
    )


def agent_channels(
    problem: Problem,
    scales: NoiseScales,
    *,
    i: int,
    receivers: Receivers = "others",
) -> list[LaplaceChannel]:
    """Return the noisy quantities that agent i's reports enter.

    Parameters
    ----------
    problem : Problem
        The instance.
    scales : NoiseScales
        Scales of the noise, one b for each agent.
    i : int
        Agent, 0 to N - 1.
    receivers : {"others", "all"} or collection of int
        Whose messages count.

    Returns
    -------
    list of LaplaceChannel
        The prices first, then one for each receiver that agent i touches; what
        has sensitivity zero is left out.

    Raises
    ------
    TypeError, ValueError
        If sizes do not match, or a quantity that must be hidden has no noise.

    Examples
    --------
    >>> from dplib.truthful.noise import table_one
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> for one in agent_channels(hale_egerstedt(), table_one(), i=1):
    ...     print(one.name, one.sensitivity, one.scale)
    prices 40.0 327.69
    gradient to agent 1 2.0 10.92
    """
    check.instance("problem", problem, "agent_channels", Problem)
    check.instance("scales", scales, "agent_channels", NoiseScales)
    where = "agent_channels"
    agents = receiving_agents(problem, i=i, receivers=receivers)
    matching(problem, scales, where)
    K = constraint_lipschitz(problem)
    L = influence(problem)
    found = [("prices", float(K[i]), scales.b_g)] if agents else []
    found += [
        (f"gradient to agent {j + 1}", float(L[j, i]), float(scales.b[j]))
        for j in agents
    ]
    return [
        LaplaceChannel(name=name, sensitivity=sensitivity, scale=scale)
        for name, sensitivity, scale in found
        if sensitivity > 0.0
    ]


def joint_release(
    problem: Problem,
    scales: NoiseScales,
    *,
    i: int,
    adjacency: Adjacency,
    receivers: Receivers = "others",
) -> Release:
    """Return the privacy of agent i's reports, over any horizon; rounded up.

    Parameters
    ----------
    problem, scales, i, receivers
        As in `agent_channels`.
    adjacency : Adjacency
        In the l1 norm, of one agent's whole trajectory; its radius is B.

    Returns
    -------
    Release
        An upper bound, pure.

    Raises
    ------
    TypeError, ValueError
        As in `agent_channels`, or if agent i touches no receiver.

    Examples
    --------
    >>> from dplib.truthful.noise import calibrated, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem, adjacency = hale_egerstedt(), trajectory_adjacency(3.0)
    >>> scales = calibrated(problem, adjacency=adjacency, epsilon=1.5)
    >>> joint_release(problem, scales, i=6, adjacency=adjacency).epsilon
    4.25
    """
    check.instance("problem", problem, "joint_release", Problem)
    check.instance("scales", scales, "joint_release", NoiseScales)
    check.instance("adjacency", adjacency, "joint_release", Adjacency)
    trajectory_radius(adjacency, "joint_release")
    found = agent_channels(problem, scales, i=i, receivers=receivers)
    return laplace_budget(found, adjacency=adjacency, name=f"agent {i + 1}")


def joint_epsilons(
    problem: Problem,
    scales: NoiseScales,
    *,
    adjacency: Adjacency,
    receivers: str = "others",
) -> FloatArray:
    """Return epsilon_i of every agent, shape (N,); 0 for one that touches nobody.

    Their largest is the epsilon of joint (or, with ``"all"``, ordinary)
    differential privacy that composition proves.

    Examples
    --------
    >>> from dplib.truthful.noise import calibrated, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem, adjacency = hale_egerstedt(), trajectory_adjacency(3.0)
    >>> scales = calibrated(problem, adjacency=adjacency, epsilon=1.5)
    >>> joint_epsilons(problem, scales, adjacency=adjacency)
    array([3.25, 1.25, 2.25, 2.25, 3.5 , 2.25, 4.25, 1.  ])
    """
    check.instance("problem", problem, "joint_epsilons", Problem)
    check.instance("scales", scales, "joint_epsilons", NoiseScales)
    check.instance("adjacency", adjacency, "joint_epsilons", Adjacency)
    result = np.zeros(problem.n_agents)
    for i in range(problem.n_agents):
        if agent_channels(problem, scales, i=i, receivers=receivers):
            release = joint_release(
                problem, scales, i=i, adjacency=adjacency, receivers=receivers
            )
            result[i] = release.epsilon
    return result


def calibrated_factors(
    problem: Problem, *, receivers: str = "others"
) -> tuple[Fraction, ...]:
    r"""Return epsilon_i / epsilon under the scales of Lemmas 5 and 6, exactly.

    :math:`K_{g,i}/K_g + \sum_j L_{j \leftarrow i}/L_{g,j}`: neither B nor epsilon
    is left in it.

    Parameters
    ----------
    problem : Problem
        The instance.
    receivers : {"others", "all"}
        Joint or ordinary differential privacy.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> print(max(calibrated_factors(hale_egerstedt())))
    17/6
    """
    check.instance("problem", problem, "calibrated_factors", Problem)
    K, L = constraint_lipschitz(problem), influence(problem)
    rows = L.max(axis=1)
    factors = []
    for i in range(problem.n_agents):
        agents = receiving_agents(problem, i=i, receivers=receivers)
        heard = len(agents) > 0 and K[i] > 0.0  # prices are heard in messages only
        factor = Fraction(K[i]) / Fraction(K.max()) if heard else Fraction(0)
        for j in agents:
            if L[j, i] > 0.0:
                factor += Fraction(L[j, i]) / Fraction(rows[j])
        factors.append(factor)
    return tuple(factors)


def closed_loop_length(sizes: StepSizes, *, steps: int, weight: float = 1.0) -> float:
    r"""Return how long a trajectory difference gets that starts with length 1.

    Let an agent start elsewhere and follow Algorithm 2. Under the same transcript
    its two trajectories shrink towards each other in every coordinate, by at least
    the factor :math:`1 - \gamma_k (w + \alpha_k)` a step, since a projection onto a
    box never moves coordinates apart. The sum of what is left,

    .. math:: \sum_{k} \prod_{l < k} |1 - \gamma_l (w + \alpha_l)| ,

    is the largest l1 distance of the two *trajectories* over all transcripts, and
    is attained where no box binds. Dividing B by it gives the largest change of the
    initial state that an adjacency of radius B covers.

    Parameters
    ----------
    sizes : StepSizes
        Step sizes.
    steps : int
        Number of steps, 1 or greater.
    weight : float
        Weight w of the agent's cost, 0 or greater.

    Returns
    -------
    float
        At least 1, at most `steps` (if the steps are short enough to be stable).

    Examples
    --------
    >>> sizes = StepSizes(gamma_bar=0.5, alpha_bar=1e-9)
    >>> round(closed_loop_length(sizes, steps=2), 6)
    1.5
    """
    check.instance("sizes", sizes, "closed_loop_length", StepSizes)
    steps = check.integer("steps", steps, "closed_loop_length", low=1, high=10**9)
    weight = check.nonnegative("weight", weight, "closed_loop_length")
    k = sizes.indices(steps - 1)
    factors = np.abs(1.0 - sizes.gamma(k) * (weight + sizes.alpha(k)))
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(1.0 + np.cumprod(factors).sum())
    if not np.isfinite(length):
        must = "small enough for the step sizes (trajectories part otherwise)"
        check.fail("weight", "closed_loop_length", must, weight)
    return length


def transcript_loss(
    problem: Problem,
    scales: NoiseScales,
    *,
    gradients: ArrayLike,
    values: ArrayLike,
    reports: ArrayLike,
    adjacent: ArrayLike,
    receivers: Collection[int],
) -> float:
    """Return the log likelihood ratio of a transcript of the noisy quantities.

    The witness that the upper bound is not loose: a transcript far out in the
    tails, with B spread over many small steps, comes as close to it as wished.

    Parameters
    ----------
    problem, scales
        The instance and its noise.
    gradients : array_like, shape (steps, m, n)
        Noisy g_x; only columns of `receivers` are read.
    values : array_like, shape (steps, m)
        Noisy g.
    reports, adjacent : array_like, shape (steps, n)
        All reports under the two data.
    receivers : collection of int
        Agents whose messages count.

    Returns
    -------
    float
        log p(transcript | reports) - log p(transcript | adjacent).

    Raises
    ------
    TypeError, ValueError
        If shapes do not match.
    """
    check.instance("problem", problem, "transcript_loss", Problem)
    where = "transcript_loss"
    matching(problem, scales, where)
    agents = _agents(problem, receivers, "a collection of agents", where)
    n, m = problem.n_states, problem.n_constraints
    first = check.array("reports", reports, where, shape=(None, n))
    steps = len(first)
    second = check.array("adjacent", adjacent, where, shape=(steps, n))
    seen = check.array("values", values, where, shape=(steps, m))
    moved = np.abs(seen - constraints(problem, second))
    loss = _per_scale(
        moved - np.abs(seen - constraints(problem, first)), scales.b_g, where
    )
    slopes = check.array("gradients", gradients, where, shape=(steps, m, n))
    moved = np.abs(slopes - jacobian(problem, second))
    moved = moved - np.abs(slopes - jacobian(problem, first))
    for j in agents:
        loss += _per_scale(moved[..., agent(problem, j)], float(scales.b[j]), where)
    return loss


def _per_scale(differences: FloatArray, scale: float, where: str) -> float:
    """Return the sum of differences of distances in units of the noise."""
    if not np.any(differences):
        return 0.0  # what does not depend on the reports needs no noise
    if scale == 0.0:
        must = "positive for every quantity that depends on the reports"
        check.fail("scales", where, must, scale)
    return float(np.sum(differences)) / scale
