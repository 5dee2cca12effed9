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
and so are equal under both.

Pure epsilon, idealised (real arithmetic), and only while reports stay in the boxes:
outside of them a quadratic g has no Lipschitz constant.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dplib.privacy.adjacency import Adjacency
from dplib.privacy.trajectory import LaplaceChannel, laplace_budget
from dplib.truthful.noise import NoiseScales, sensitivity_matrix
from dplib.truthful.problem import Problem

__all__ = ["Receivers", "heard_sensitivities", "joint_epsilons", "receiving_agents"]

FloatArray = NDArray[np.float64]
Receivers = Literal["others", "all"] | Collection[int]


def receiving_agents(problem: Problem, *, i: int, receivers: Receivers) -> list[int]:
    """Return the agents whose messages count, ascending, if agent i's privacy is meant.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> receiving_agents(hale_egerstedt(), i=5, receivers="others")
    [0, 1, 2, 3, 4, 6, 7]
    """
    if receivers == "others":
        return [j for j in range(problem.n_agents) if j != i]
    if receivers == "all":
        return list(range(problem.n_agents))
    return sorted(set(receivers))


def heard_sensitivities(
    problem: Problem, *, receivers: Receivers = "others"
) -> FloatArray:
    """Return `sensitivity_matrix`, with 0 for what the receivers do not get.

    Prices are heard in messages only: if nobody receives any, they tell nothing.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> heard_sensitivities(hale_egerstedt())[1]
    array([40.,  2.,  0.,  0.,  0.,  0.,  0.,  0.,  0.])
    """
    reach = sensitivity_matrix(problem)
    heard = np.zeros_like(reach)
    for i in range(problem.n_agents):
        agents = receiving_agents(problem, i=i, receivers=receivers)
        if agents:
            columns = [0, *(1 + j for j in agents)]
            heard[i, columns] = reach[i, columns]
    return heard


def joint_epsilons(
    problem: Problem,
    scales: NoiseScales,
    *,
    adjacency: Adjacency,
    receivers: Receivers = "others",
) -> FloatArray:
    """Return epsilon_i of every agent over any horizon, rounded up, shape (N,).

    Their largest is the epsilon of joint (or, with ``"all"``, ordinary)
    differential privacy that composition proves.

    Parameters
    ----------
    problem : Problem
        The instance.
    scales : NoiseScales
        Its noise; positive for all that depends on reports and is heard.
    adjacency : Adjacency
        In the l1 norm, of one agent's whole trajectory; its radius is B.
    receivers : {"others", "all"} or collection of int
        Whose messages count.

    Examples
    --------
    >>> from dplib.truthful.noise import calibrated, trajectory_adjacency
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem, adjacency = hale_egerstedt(), trajectory_adjacency(3.0)
    >>> scales = calibrated(problem, adjacency=adjacency, epsilon=1.5)
    >>> joint_epsilons(problem, scales, adjacency=adjacency)
    array([3.25, 1.25, 2.25, 2.25, 3.5 , 2.25, 4.25, 1.  ])
    """
    names = ["prices", *(f"gradient to agent {1 + j}" for j in range(problem.n_agents))]
    result = np.zeros(problem.n_agents)
    for i, heard in enumerate(heard_sensitivities(problem, receivers=receivers)):
        channels = [
            LaplaceChannel(name=name, sensitivity=float(moved), scale=float(scale))
            for name, moved, scale in zip(names, heard, scales.stacked, strict=True)
            if moved > 0.0
        ]
        if channels:  # an agent that touches nobody loses nothing
            whole = laplace_budget(channels, adjacency=adjacency, name=f"agent {i + 1}")
            result[i] = whole.epsilon
    return result
