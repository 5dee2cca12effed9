"""The search for Fig. 11: what the paper leaves open, varied.

One task is one design: reading of *to target* (``toll``: a jump that costs R / 11 per
km from the goal and 100 km), rewards, R, discount. One row a vehicle. Columns ``m_``
hold the mean distance from the target at detection, km, ``s_`` its standard error,
over policies that share their standard normals, for every epsilon and for no noise.
"""

import numpy as np

from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards.adversary import fly_routes
from dplib.rewards.flight import FIRST_FIT, SECOND_FIT, THIRD_FIT
from dplib.rewards.paper import Scenario, paper_grid
from dplib.rewards.waypoints import DESIGNS, VANISHING, private_routes, reward_table
from dplib.rng import stream

PARAMETERS = {
    "seed": 2027,
    "policies": 100,
    "epsilon": [0.2, 0.5, 1.0, 2.0, 4.0],
    "delta": 0.1,
    "b": 1.0,
    "toll": 0.09,
    "goal_reward": [5, 10, 50],
    "discount": ["0.9", "0.95", "0.99"],
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-6}
TASK = ("reading", "rewards", "goal_reward", "discount")
LEVELS = (*map(str, PARAMETERS["epsilon"]), "none")
COLUMNS = ("vehicle", *(f"{a}_{level}" for level in LEVELS for a in "ms"))
VEHICLES = {"first": FIRST_FIT, "second": SECOND_FIT, "third": THIRD_FIT}


def tasks():
    """Return all designs."""
    return [
        (reading, design, goal_reward, discount)
        for reading in ("stay", "jump", "toll")
        for design in DESIGNS
        for goal_reward in PARAMETERS["goal_reward"]
        for discount in PARAMETERS["discount"]
    ]


def run(reading, rewards, goal_reward, discount):
    """Return one row a vehicle."""
    grid, scenario = paper_grid(), Scenario()
    toll = PARAMETERS["toll"] * goal_reward if reading == "toll" else 0.0
    table = reward_table(
        grid, design=rewards, goal_reward=float(goal_reward), toll=toll
    )
    random = stream(PARAMETERS["seed"], "rewards", "waypoint search")
    normals = random.standard_normal((PARAMETERS["policies"], *table.shape))
    found = {name: [name] for name in VEHICLES}
    for epsilon in (*PARAMETERS["epsilon"], None):
        sigma = VANISHING
        if epsilon is not None:
            sigma = kappa_sigma(
                sensitivity=PARAMETERS["b"], epsilon=epsilon, delta=PARAMETERS["delta"]
            )
        routes = private_routes(
            grid,
            table,
            normals,
            sigma=sigma,
            discount=float(discount),
            reading="stay" if reading == "stay" else "jump",
        )
        for name, vehicle in VEHICLES.items():
            distances = fly_routes(vehicle, scenario, grid, routes).distances
            se = distances.std(ddof=1) / np.sqrt(distances.size)
            found[name] += [round(float(distances.mean()), 6), round(float(se), 6)]
    return list(found.values())
