"""The networks of the paper, as swarms that are observed as the paper says.

`RESOURCE` is Equation 7 with the query of Equation 8, `PAIRS` Equation 16 with that of
Equation 18, `TASKS` Equation 22 with that of Equation 25.
"""

from __future__ import annotations

from collections.abc import Sequence

from dplib.macroscopic.network import parse
from dplib.macroscopic.swarm import Swarm, observing

__all__ = ["RESOURCE", "pairs", "resource", "tasks"]


def resource(kappa: Sequence[float] = (3, 1, 1, 1)) -> Swarm:
    """Return section 3's robots of types A and B that share two resources R."""
    k1, k2, k3, k4 = kappa
    network = parse(
        f"""
        A + R <-> AR : {k1}, {k2}
        B + R <-> BR : {k3}, {k4}
        """
    )
    return observing(network, "AB", [["A", "B"], ["AR", "BR"]], {"R": 2})


RESOURCE = resource()
"""The example of section 3, with the rates of Figure 4."""


def pairs(kappa: Sequence[float] = (1, 1, 1, 1)) -> Swarm:
    """Return section 6.1's pairs and triples (Figures 7 to 9), seen by their size."""
    k1, k2, k3, k4 = kappa
    network = parse(
        f"""
        r1 + r2 <-> r12 : {k1}, {k2}
        r12 + r3 <-> r123 : {k3}, {k4}
        """
    )
    return observing(
        network, ["r1", "r2", "r3"], [["r1", "r2", "r3"], ["r12"], ["r123"]]
    )


def tasks(
    alpha: Sequence[float] = (1, 1, 1), beta: Sequence[float] = (1, 1, 1)
) -> Swarm:
    """Return section 7's robots that wait at tasks for two others.

    Parameters
    ----------
    alpha, beta : sequence of 3 floats
        Rates at which robots of types 1, 2, 3 meet tasks, and leave them.
    """
    lines = []
    for s, (join, leave) in enumerate(zip(alpha, beta, strict=True), start=1):
        t, u = (other for other in (1, 2, 3) if other != s)
        lines += [f"e{s} <-> w{s} : {join}, {leave}"]
        for other in (t, u):
            both = "".join(sorted(f"{s}{other}"))
            lines += [f"w{other} + e{s} <-> w{both} : {join}, {leave}"]
        lines += [f"w{t}{u} + e{s} -> e1 + e2 + e3 : {join}"]
    network = parse("\n".join(lines))
    seen = [["e1", "e2", "e3"], ["w1", "w2", "w3"], ["w12", "w13", "w23"]]
    return observing(network, ["e1", "e2", "e3"], seen)
