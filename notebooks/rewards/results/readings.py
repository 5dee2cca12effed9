"""Three printed costs of Example 2, under every reading of what the paper leaves open.

The paper reports the average cost of input perturbation for three settings: largest
reward 5 at epsilon 0.1 (108 %) and at epsilon 1.3 (5 %), and largest reward 50 at
epsilon 0.1 (1.5 %). One task is one reading: whether rewards depend on the joint state
("joint") or on the agent's own ("own"), the law of slips, the discount, and the
adjacency parameter b. Its rows are the three settings, for two starts.

Where rewards depend on the agent's own state the team's problem falls apart into one
problem for each agent, and the mean cost of the team is that of one agent. It takes
less time, and so has more samples: the readings nearest to the print are among these.

``mean`` and ``error`` are the mean cost in percent and its standard error, ``stays``
the share of private policies that stay at the goal.
"""

import numpy as np

from dplib.mdp.gridworld import SLIP_LAWS
from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards.cost import costs_of_privacy
from dplib.rewards.mechanism import input_noise, standard_draw
from dplib.rewards.paper import example_two
from dplib.rng import stream

PARAMETERS = {
    "seed": 2026,
    "rewards": ["joint", "own"],
    "samples": {"joint": 200, "own": 4000},
    "discount": ["0.5", "0.8", "0.9", "0.95", "0.99"],
    "b": [1, 2],
    "settings": [[5, "0.1"], [5, "1.3"], [50, "0.1"]],
    "delta": 0.1,
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-5}
TASK = ("rewards", "slip", "discount", "b")
COLUMNS = ("r_max", "epsilon", "start", "mean", "error", "stays")


def tasks():
    """Return every reading."""
    return [
        (rewards, slip, discount, b)
        for rewards in PARAMETERS["rewards"]
        for slip in SLIP_LAWS
        for discount in PARAMETERS["discount"]
        for b in PARAMETERS["b"]
    ]


def run(rewards, slip, discount, b):
    """Return one row for each setting and start."""
    agents, samples = (2 if rewards == "joint" else 1), PARAMETERS["samples"][rewards]
    rows = []
    for r_max, epsilon in PARAMETERS["settings"]:
        example = example_two(
            r_max, discount=float(discount), law=slip, n_agents=agents
        )
        model = example.model
        rng = stream(PARAMETERS["seed"], "rewards/readings", rewards)
        draw = standard_draw(model.n_states, model.actions, samples=samples, rng=rng)
        sigma = kappa_sigma(
            sensitivity=b, epsilon=float(epsilon), delta=PARAMETERS["delta"]
        )
        noise = input_noise(model.actions, sigma=sigma).noise(draw)
        found = costs_of_privacy(
            example,
            noise,
            starts=[example.start, example.goal_state],
        )
        for at, start in enumerate(("far", "goal")):
            own = found.percent[:, at]
            error = own.std(ddof=1) / np.sqrt(samples)
            # Six decimals: the values are certified to more, the means to far less.
            told = (round(float(x), 6) for x in (own.mean(), error, found.stays.mean()))
            rows.append((r_max, epsilon, start, *told))
    return rows
