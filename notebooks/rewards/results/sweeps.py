"""How many backups value iteration makes on private rewards of the grid world.

One task is one cell: stopping rule, law of slips, adjacency parameter b, epsilon. Value
iteration starts at zero values and stops by its rule at the tolerance; input
perturbation makes the rewards. All cells share their random numbers. The first law of
slips is tried at every epsilon and by both rules. The paper does not say which law is
meant; the others are tried at the epsilon for which it prints a count, by the usual
rule.

``true`` is the number of backups on the true rewards, ``mean`` and ``error`` the mean
on private ones and its standard error.
"""

import numpy as np

from dplib.mdp.gridworld import SLIP_LAWS
from dplib.mdp.solve import value_iteration
from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards.mechanism import input_noise, standard_draw
from dplib.rewards.paper import example_two
from dplib.rng import stream

PARAMETERS = {
    "seed": 2026,
    "samples": 120,
    "r_max": 5,
    "b": [1, 2],
    "epsilon": ["0.1", "0.2", "0.5", "1", "1.3", "2", "5", "10"],
    "delta": 0.1,
    "discount": 0.99,
    "law": list(SLIP_LAWS),
    "printed": "1.3",
    "tolerance": 1.0e-7,
    "rules": ["residual", "span"],
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-3}
TASK = ("rule", "law", "b", "epsilon")
COLUMNS = ("true", "mean", "error")


def tasks():
    """Return every cell."""
    first, *others = PARAMETERS["law"]
    return [
        (rule, first, b, epsilon)
        for rule in PARAMETERS["rules"]
        for b in PARAMETERS["b"]
        for epsilon in PARAMETERS["epsilon"]
    ] + [
        ("residual", law, b, PARAMETERS["printed"])
        for law in others
        for b in PARAMETERS["b"]
    ]


def run(rule, law, b, epsilon):
    """Return the one row of a cell."""
    example = example_two(PARAMETERS["r_max"], discount=PARAMETERS["discount"], law=law)
    model, samples = example.model, PARAMETERS["samples"]
    sigma = kappa_sigma(
        sensitivity=float(b), epsilon=float(epsilon), delta=PARAMETERS["delta"]
    )
    rng = stream(PARAMETERS["seed"], "rewards/sweeps")
    draw = standard_draw(model.n_states, model.actions, samples=samples, rng=rng)
    noise = input_noise(model.actions, sigma=sigma).noise(draw)
    rules = {"tolerance": PARAMETERS["tolerance"], "stopping": rule}
    counts = np.array(
        [
            value_iteration(model, example.rewards + one, **rules).iterations
            for one in noise
        ]
    )
    true = value_iteration(model, example.rewards, **rules).iterations
    error = counts.std(ddof=1) / np.sqrt(samples)
    return [(true, round(float(counts.mean()), 6), round(float(error), 6))]
