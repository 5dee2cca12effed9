"""Figure 14(b), (c): leakage against rates at which types 2 and 3 meet and leave tasks.

``varied`` is alpha, the rates of meeting (b), or beta, those of leaving (c); all others
are 1, with ten robots of each type. Types 2 and 3 are exchangeable, so the table has
only the cells with rate2 <= rate3. The certified interval of a leakage is at most
WIDEST wide. ``guess`` is how often the best guess between D and the neighbour that is
easiest to tell from it is right.
"""

from dplib.macroscopic import paper, transient
from dplib.macroscopic.leakage import identification, leakage
from dplib.macroscopic.swarm import TypeChange

PARAMETERS = {
    "varied": ["alpha", "beta"],
    "counts": [10, 10, 10],
    "rates": [0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0],
    "tau": 10.0,
    "nu": [1e-3, 1e-5, 1e-8],
    "tolerance": 1e-10,
}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-5}
TASK = ("varied", "rate2", "rate3")
COLUMNS = ("nu", "leakage", "guess")

WIDEST = 0.01  # nats


def check_width(found):
    """Refuse a leakage that is not certain enough."""
    if found.high - found.low > WIDEST:
        raise ValueError(f"leakage between {found.low} and {found.high}")


def tasks():
    """Return every cell on or above the diagonal, of both panels."""
    rates = PARAMETERS["rates"]
    cells = [(r2, r3) for r2 in rates for r3 in rates if r2 <= r3]
    return [(varied, *cell) for varied in PARAMETERS["varied"] for cell in cells]


def run(varied, rate2, rate3):
    """Return one row for each smoothing."""
    swarm = paper.tasks(**{varied: (1, rate2, rate3)})
    law = transient.observed(
        swarm, PARAMETERS["tau"], tolerance=PARAMETERS["tolerance"]
    )
    counts = tuple(PARAMETERS["counts"])
    guess = max(
        identification(law(counts), law(other))
        for other in TypeChange().neighbours(counts)
    )
    rows = []
    for nu in PARAMETERS["nu"]:
        found = leakage(law, counts, nu=nu, adjacency=TypeChange())
        check_width(found)
        told = (found.value, guess)
        rows.append((nu, *(round(float(x), 9) for x in told)))
    return rows
