"""Figure 14(a): leakage against the numbers of robots of types 2 and 3, ten of type 1.

Neighbours have the same number of robots in all, so one task is one total of types 2
and 3. Types are exchangeable (all rates are 1): counts are sorted, and the table has
only the cells with n2 <= n3. The certified interval of a leakage is at most WIDEST
wide; ``filled`` is the leakage if no type may be empty in a neighbour; ``guess`` is how
often the best guess between D and the neighbour that is easiest to tell from it is
right.
"""

from dplib.macroscopic import paper, transient
from dplib.macroscopic.leakage import identification, leakage
from dplib.macroscopic.swarm import TypeChange

PARAMETERS = {
    "n1": 10,
    "largest": 20,
    "tau": 10.0,
    "nu": [1e-3, 1e-5, 1e-8],
    "tolerance": 1e-10,
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-5}
TASK = ("total",)
COLUMNS = ("n2", "n3", "nu", "leakage", "filled", "guess")

WIDEST = 0.01  # nats


def check_width(found):
    """Refuse a leakage that is not certain enough."""
    if found.high - found.low > WIDEST:
        raise ValueError(f"leakage between {found.low} and {found.high}")


def tasks():
    """Return every total of types 2 and 3."""
    return [(total,) for total in range(2, 2 * PARAMETERS["largest"] + 1)]


def run(total):
    """Return one row for each cell and each smoothing."""
    seen = transient.observed(
        paper.tasks(), PARAMETERS["tau"], tolerance=PARAMETERS["tolerance"]
    )

    def law(counts):
        return seen(tuple(sorted(counts)))

    largest, rows = PARAMETERS["largest"], []
    for n2 in range(max(1, total - largest), total // 2 + 1):
        counts = (PARAMETERS["n1"], n2, total - n2)
        guess = max(
            identification(law(counts), law(other))
            for other in TypeChange().neighbours(counts)
        )
        for nu in PARAMETERS["nu"]:
            all_of = leakage(law, counts, nu=nu, adjacency=TypeChange())
            filled = leakage(
                law, counts, nu=nu, adjacency=TypeChange(empty_types=False)
            )
            check_width(all_of)
            told = (all_of.value, filled.value, guess)
            rows.append((*counts[1:], nu, *(round(float(x), 9) for x in told)))
    return rows
