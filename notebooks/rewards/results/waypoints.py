"""Fig. 11: where private waypoint flights are detected, and a control arm.

One task is one design of the rewards: reading of *to target*, design, R (see
`dplib.rewards.waypoints`). Every row has 200 policies; all of them share their standard
normals. ``epsilon`` "none" is the control arm: waypoints for the true rewards.

Rows: ``mean`` and ``se`` of the distance from the target at detection, km; ``gap`` and
``gap_se`` of the paired difference to the control arm; ``reach``, share of flights that
come within 80 km on their waypoints; ``early``, share detected before they are within
80 km; ``waypoints``, mean number, and ``fewest`` and ``most``; ``loops``, share of
policies that would go in circles.
"""

import numpy as np

from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards.adversary import fly_routes
from dplib.rewards.flight import FIRST_FIT, SECOND_FIT
from dplib.rewards.paper import Scenario, paper_grid
from dplib.rewards.waypoints import VANISHING, private_routes, reward_table
from dplib.rng import stream

PARAMETERS = {
    "seed": 2026,
    "policies": 200,
    "epsilon": [0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0],
    "delta": 0.1,
    "b": 1.0,
    "discount": 0.95,
    "designs": {
        "flat": ["stay", "flat", 50.0],
        "distance": ["stay", "distance", 50.0],
        "cross-track": ["stay", "cross-track", 50.0],
        "corridor": ["stay", "corridor", 50.0],
        "weak goal": ["stay", "flat", 5.0],
        "jump": ["jump", "flat", 5.0],
    },
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-6}
TASK = ("design",)
COLUMNS = (
    *("vehicle", "epsilon", "sigma", "mean", "se", "gap", "gap_se"),
    *("reach", "early", "waypoints", "fewest", "most", "loops"),
)
VEHICLES = {"first": FIRST_FIT, "second": SECOND_FIT}


def tasks():
    """Return all designs."""
    return [(name,) for name in PARAMETERS["designs"]]


def mean_se(values):
    """Return mean and standard error, to a micrometre and a half."""
    se = values.std(ddof=1) / np.sqrt(values.size)
    return round(float(values.mean()), 6), round(float(se), 6)


def run(design):
    """Return one row a vehicle and epsilon, the control arm first."""
    reading, rewards, goal_reward = PARAMETERS["designs"][design]
    grid, scenario = paper_grid(), Scenario()
    table = reward_table(grid, design=rewards, goal_reward=goal_reward)
    random = stream(PARAMETERS["seed"], "rewards", "waypoints")
    normals = random.standard_normal((PARAMETERS["policies"], *table.shape))
    levels = {"none": VANISHING}
    for epsilon in PARAMETERS["epsilon"]:
        levels[epsilon] = kappa_sigma(
            sensitivity=PARAMETERS["b"], epsilon=epsilon, delta=PARAMETERS["delta"]
        )
    rows, control = [], {}
    for epsilon, sigma in levels.items():
        routes = private_routes(
            grid,
            table,
            normals,
            sigma=sigma,
            discount=PARAMETERS["discount"],
            reading=reading,
        )
        loops = float(np.mean([found.ends == "loop" for found in routes]))
        for name, vehicle in VEHICLES.items():
            out = fly_routes(vehicle, scenario, grid, routes)
            control.setdefault(name, out.distances)
            early = float(np.mean(out.distances >= scenario.switch_range))
            rows.append(
                [
                    *(name, epsilon, round(float(sigma), 9)),
                    *mean_se(out.distances),
                    *mean_se(out.distances - control[name]),
                    *(float(out.within.mean()), early),
                    float(out.waypoints.mean()),
                    *(int(out.waypoints.min()), int(out.waypoints.max()), loops),
                ]
            )
    return rows
