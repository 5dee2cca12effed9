"""The master equation of the tasks by Krylov steps, and by scipy's expm_multiply.

On the task network of Prorok and Kumar's section 7 with ten robots of each type (67,677
states) at time 10, this prints CPU seconds on one core, in interleaved rounds, of

- `transient` at a tolerance of 1e-11, certificate included;
- scipy's `expm_multiply` on the same generator, states and generator given.

Both must find the same distribution. Then time and memory against the number of robots
of each type, up to 100 (2.6e10 states), at a tolerance of 1e-6 above 10; each row is a
process of its own. The table is also plotted, into runs/swarm_transient.svg.

    python benchmarks/swarm_transient.py [LARGEST]
"""

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import expm_multiply

from dplib.macroscopic import paper, states
from dplib.macroscopic.distribution import Distribution, aligned
from dplib.macroscopic.transient import transient

COUNTS, TAU, ROUNDS = (10, 10, 10), 10.0, 3
SIZES = (5, 10, 15, 20, 50, 100)

# What was promised: expm_multiply against Krylov steps.
PROMISED = 5.0


def timed(action):
    """Return CPU seconds and the result."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def compare():
    """Print both times and their ratio."""
    swarm = paper.tasks()
    transient(swarm, (1, 1, 1), 1.0)  # compiles
    kept = states.reachable(swarm.network, swarm.start(COUNTS))
    rates = states.generator(swarm.network, kept).T.tocsr()
    first = np.all(kept == swarm.start(COUNTS), axis=1).astype(float)
    seconds = {"krylov": [], "expm": []}
    for _ in range(ROUNDS):
        spent, ours = timed(lambda: transient(swarm, COUNTS, TAU, tolerance=1e-11))
        seconds["krylov"].append(spent)
        spent, theirs = timed(lambda: expm_multiply(TAU * rates, first))
        seconds["expm"].append(spent)
    _, log_p, log_q = aligned(ours, Distribution(kept, np.log(np.abs(theirs))))
    difference = np.abs(np.exp(log_p) - np.exp(log_q)).sum()
    krylov, expm = (statistics.median(one) for one in seconds.values())
    print(f"transient      {krylov:6.2f} s, error at most {ours.error:.0e}")
    print(f"expm_multiply  {expm:6.2f} s, difference {difference:.0e} in the 1-norm")
    print(f"ratio          {expm / krylov:6.1f} (promised {PROMISED:g})")


def one_size(size):
    """Print one row of the table."""
    swarm = paper.tasks()
    transient(swarm, (1, 1, 1), 1.0)
    tolerance = 1e-10 if size <= 10 else 1e-6
    spent, found = timed(
        lambda: transient(swarm, (size,) * 3, TAU, tolerance=tolerance, listed=200_000)
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{size:>5} {len(found.log_p):>10,} {found.error:9.0e}"
        f" {spent:8.1f} {memory:8.0f}",
        flush=True,
    )


def main():
    """Print both tables, and plot the second."""
    compare()
    print("\nrobots     states     error    CPU s       MB")
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    rows = []
    for size in SIZES:
        if size <= largest:
            command = [sys.executable, __file__, "--size", str(size)]
            line = subprocess.check_output(command, text=True)
            print(line, end="", flush=True)
            rows.append([float(one.replace(",", "")) for one in line.split()])
    robots, _, _, seconds, megabytes = zip(*rows, strict=True)
    fig, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
    for ax, values, label in zip(
        axes, (seconds, megabytes), ("CPU seconds", "MB at most"), strict=True
    ):
        ax.loglog(robots, values, "o-")
        ax.set(xlabel="robots of each type", ylabel=label)
    target = Path("runs/swarm_transient.svg")
    target.parent.mkdir(exist_ok=True)
    fig.savefig(target)
    print(f"plotted in {target}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--size"]:
        one_size(int(sys.argv[2]))
    else:
        main()
