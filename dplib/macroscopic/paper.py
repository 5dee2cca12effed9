"""The networks of the paper, as swarms that are observed as the paper says.

`RESOURCE` is Equation 7 with the query of Equation 8, `pairs` Equation 16 with that of
Equation 18, `tasks` Equation 22 with that of Equation 25. `FIGURE_SIX` is a mechanism
with the numbers that the paper gives of Figure 6 (the drawing does not say more), and
`two_routes` the smallest collaboration-DAG that is not complex balanced for all rates.
Both are observed by the size of a group, as in section 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from dplib.macroscopic.network import parse
from dplib.macroscopic.swarm import Swarm, observing

__all__ = ["FIGURE_SIX", "RESOURCE", "pairs", "resource", "tasks", "two_routes"]


_SINGLE = ["r1", "r2", "r3"]


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
    return observing(network, _SINGLE, [_SINGLE, ["r12"], ["r123"]])


def two_routes(kappa: Sequence[float] = (1,) * 8) -> Swarm:
    """Return a mechanism in which the triple comes about in two ways.

    Its two routes can disagree: it is complex balanced exactly if
    k1/k2 * k5/k6 = k3/k4 * k7/k8.
    """
    k1, k2, k3, k4, k5, k6, k7, k8 = kappa
    network = parse(
        f"""
        r1 + r2 <-> r12 : {k1}, {k2}
        r2 + r3 <-> r23 : {k3}, {k4}
        r12 + r3 <-> r123 : {k5}, {k6}
        r1 + r23 <-> r123 : {k7}, {k8}
        """
    )
    return observing(network, _SINGLE, [_SINGLE, ["r12", "r23"], ["r123"]])


FIGURE_SIX = observing(
    parse(
        """
        r1 + r2 <-> r12 : 1, 1
        r1 + r3 <-> r13 : 1, 1
        r2 + r3 <-> r23 : 1, 1
        r12 + r3 <-> r123 : 1, 1
        """
    ),
    _SINGLE,
    [_SINGLE, ["r12", "r13", "r23"], ["r123"]],
)
"""Three elementary and four compound states, each compound made in one way."""


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
