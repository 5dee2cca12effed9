"""One iteration of the convex-concave procedure, and success under privacy.

On the navigation example of Chen et al. (Section 7.1) this prints CPU seconds on one
core, and their ratios:

- one of 80 iterations, as a soft decision problem, and the first of them as a conic
  program with Clarabel;
- exact private success of one policy, and simulated episodes: in a plain Python loop,
  and side by side in numpy.

Then it plots how an iteration and an evaluation grow with the size of the grid and with
the number of servers, into runs/planning.svg.

    python benchmarks/planning_synthesis.py
"""

import time
from itertools import islice
from pathlib import Path

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

from dplib.planning.execution import success_chance
from dplib.planning.grid import grid_team
from dplib.planning.paper import NAVIGATION, WEIGHTS, sysadmin
from dplib.planning.policies import marginalise
from dplib.planning.rollouts import rollouts
from dplib.planning.soft import Backups, solve_soft
from dplib.planning.synthesis import (
    Weights,
    convex_concave,
    first_occupancy,
    joint_balance,
    tangent,
)
from dplib.privacy.word import online_mechanism

# What was promised: an iteration against Clarabel; an evaluation against 50 episodes of
# a plain loop; episodes side by side against that loop.
PROMISED = {"iteration": 100.0, "evaluation": 1.0, "episodes": 500.0}
SIZES, SERVERS = (5, 6, 7, 8, 9), (2, 3, 4, 5)


def seconds(call, rounds=3):
    """Return the least CPU seconds of a call, and what it returns."""
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        result = call()
        times.append(time.process_time() - begun)
    return min(times), result


def conic(team, weights, backups, rewards, ends):
    """Solve the same convex problem with Clarabel."""
    S, m = len(backups.active), team.n_actions
    balance, _ = joint_balance(team, backups)
    stop = backups.mean(np.where(team.active.ravel(), 0.0, ends))
    x = cp.Variable((S, m), nonneg=True)
    visits = cp.sum(x, axis=1, keepdims=True) @ np.ones((1, m))
    objective = cp.sum(cp.multiply(rewards + stop, x))
    objective -= weights.correlation * cp.sum(cp.rel_entr(x, visits))
    here = np.ravel_multi_index(team.start, team.shape)
    flow = [balance @ cp.vec(x, order="C") == (backups.active == here) * 1.0]
    return cp.Problem(cp.Maximize(objective), flow).solve(solver=cp.CLARABEL)


def plain_loop(team, policies, mechanisms, episodes, rng, steps=200):
    """Simulate episodes one by one, as one would write it down first."""
    won = 0
    n = team.shape[0]
    for _ in range(episodes):
        state, told = list(team.start), list(team.start)
        for _ in range(steps):
            for j in team.told:
                p = mechanisms[j].law[state[j], told[j]]
                told[j] = rng.choice(n, p=p)
            for i, on in enumerate(team.depends):
                seen = (*(told[j] for j in on), state[i])
                p = policies[i][seen]
                action = rng.choice(len(p), p=p)
                state[i] = rng.choice(n, p=team.transitions[i][state[i], action])
            if not team.active[tuple(state)]:
                won += bool(team.target[tuple(state)])
                break
    return won / episodes


def square(size):
    """Return two agents that swap the lower corners of a square with one wall."""
    rows = [["."] * size for _ in range(size)]
    for row in range(1, size, 2):
        rows[row][size // 2] = "#"
    rows[-1][0], rows[-1][-1] = "A", "B"
    rows[-1][1], rows[-1][-2] = "b", "a"
    drawn = "\n".join("".join(row) for row in rows)
    return grid_team(drawn, slip=0.05, depends=((), (0,)))[0]


def growth(team, weights, k):
    """Return CPU seconds of an iteration, and of an evaluation."""
    first = first_occupancy(team)
    steps = convex_concave(team, weights, first)
    next(steps)
    once, found = seconds(lambda: next(steps), rounds=2)
    policies = marginalise(team, found.occupancy)
    told = [online_mechanism(law, epsilon=1.0, k=k) for law in team.transitions]
    exact, _ = seconds(
        lambda: success_chance(team, policies, steps=200, mechanisms=told), rounds=1
    )
    return once, exact


def main():
    """Print the ratios, and plot the growth."""
    team = NAVIGATION
    first = first_occupancy(team)
    backups = Backups(team)
    rewards, ends = tangent(team, WEIGHTS, first)
    rewards = rewards[backups.active]
    found = solve_soft(backups, rewards, ends, temperature=WEIGHTS.correlation)
    soft, trace = seconds(
        lambda: list(islice(convex_concave(team, WEIGHTS, first), 81))
    )
    soft /= 80
    cone, value = seconds(lambda: conic(team, WEIGHTS, backups, rewards, ends), 1)
    here = np.ravel_multi_index(team.start, team.shape)
    ours = float(found.values[np.searchsorted(backups.active, here)])
    assert abs(value - ours) < 1e-5, (value, ours)
    policies = marginalise(team, trace[-1].occupancy)
    told = [online_mechanism(law, epsilon=1.0, k=3) for law in team.transitions]
    exact, chance = seconds(
        lambda: success_chance(team, policies, steps=200, mechanisms=told)
    )
    rng = np.random.default_rng(1)
    loop, share = seconds(lambda: plain_loop(team, policies, told, 300, rng), 1)
    many, episodes = seconds(
        lambda: rollouts(
            team, policies, steps=200, samples=50_000, rng=rng, mechanisms=told
        )
    )
    assert abs(share - chance) < 0.08, (share, chance)
    assert abs(episodes.success.mean() - chance) < 0.008
    loop, many = loop / 300, many / 50_000
    ratios = {
        "iteration": cone / soft,
        "evaluation": 50.0 * loop / exact,
        "episodes": loop / many,
    }
    print(f"one iteration, CPU seconds: soft {soft:.3f}, Clarabel {cone:.1f}")
    print(
        f"exact private success: {exact:.3f} s, {exact / loop:.0f} episodes of a loop"
    )
    print(f"an episode: loop {1e3 * loop:.2f} ms, side by side {1e6 * many:.1f} us")
    for name, ratio in ratios.items():
        met = "" if ratio >= PROMISED[name] else "   NOT MET"
        print(f"{name}: {ratio:.3g} x (promised: {PROMISED[name]:.0f} x){met}")
    fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.4), sharey=True)
    servers = Weights(length=0.001, correlation=0.01)
    for ax, points, label in (
        (axes[0], {n * n: (square(n), WEIGHTS, 3) for n in SIZES}, "cells an agent"),
        (
            axes[1],
            {n: (sysadmin("1" + "0" * (n - 1)), servers, 1) for n in SERVERS},
            "servers",
        ),
    ):
        times = {x: growth(*point) for x, point in points.items()}
        for place, name in enumerate(("an iteration", "an evaluation")):
            ax.semilogy(
                list(times), [one[place] for one in times.values()], "o-", label=name
            )
        for x, (once, evaluation) in times.items():
            print(f"{label} {x}: iteration {once:.3f} s, evaluation {evaluation:.3f} s")
        ax.set(xlabel=label)
    axes[0].set(ylabel="CPU seconds")
    axes[0].legend()
    Path("runs").mkdir(exist_ok=True)
    fig.savefig("runs/planning.svg", bbox_inches="tight")


if __name__ == "__main__":
    main()
