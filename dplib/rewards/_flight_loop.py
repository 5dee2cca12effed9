"""The compiled loop of `dplib.rewards.guidance`: one flight, step by step."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from dplib.compiled import CACHE

__all__ = ["flight_steps"]

FloatArray = NDArray[np.float64]


@numba.njit(cache=CACHE)
def _distance(x: FloatArray, y: FloatArray) -> float:
    return math.sqrt((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2 + (x[2] - y[2]) ** 2)


@numba.njit(cache=CACHE)
def _accelerate(
    x: FloatArray,
    v: FloatArray,
    goal: FloatArray,
    k: float,
    shaped: bool,
    arrive: FloatArray,
    a: FloatArray,
) -> None:
    """Write into `a` the part of GENEX normal to v; `arrive` is the final velocity."""
    speed = math.sqrt(v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
    time = _distance(x, goal) / speed
    if time * time == 0.0:  # there, to the last bit
        a[:] = 0.0
        return
    for c in range(3):
        miss = goal[c] - x[c] - v[c] * time
        if shaped:
            turn = arrive[c] - v[c]
            pull = (k + 2.0) * (k + 3.0) * miss - (k + 1.0) * (k + 2.0) * turn * time
        else:
            pull = (k + 3.0) * miss
        a[c] = pull / time**2
    along = (a[0] * v[0] + a[1] * v[1] + a[2] * v[2]) / speed**2
    for c in range(3):
        a[c] -= along * v[c]


@numba.njit(cache=CACHE)
def flight_steps(
    x: FloatArray,
    v: FloatArray,
    target: FloatArray,
    route: FloatArray,
    near: float,
    k: float,
    shaped: bool,
    step: float,
    record: FloatArray,
) -> tuple[int, int, bool]:
    """Fill rows (x, v, a) of `record`; return steps, first direct one, and why."""
    speed = math.sqrt(v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
    a, arrive = np.empty(3), np.zeros(3)
    x_half, v_half = np.empty(3), np.empty(3)
    leg, direct, within = 1, -1, False
    for s in range(record.shape[0]):
        if direct < 0:
            within = _distance(x, target) < near
            while leg < route.shape[0] and _distance(x, route[leg]) < _distance(
                x, route[leg - 1]
            ):
                leg += 1
            if within or leg >= route.shape[0]:
                direct = s
                far = _distance(x, target)
                for c in range(3):  # exactly there it has no direction to fly in
                    arrive[c] = speed * (target[c] - x[c]) / far if far > 0.0 else 0.0
        goal = target if direct >= 0 else route[leg]
        bend = shaped and direct >= 0
        _accelerate(x, v, goal, k, bend, arrive, a)
        for c in range(3):
            record[s, c], record[s, 3 + c], record[s, 6 + c] = x[c], v[c], a[c]
        if direct >= 0 and _distance(x, target) < speed * step:
            return s + 1, direct, within
        for c in range(3):
            x_half[c] = x[c] + 0.5 * step * v[c]
            v_half[c] = v[c] + 0.5 * step * a[c]
        _scale(v_half, speed)
        _accelerate(x_half, v_half, goal, k, bend, arrive, a)
        for c in range(3):
            x[c] += step * v_half[c]
            v[c] += step * a[c]
        _scale(v, speed)
    return -1, direct, within


@numba.njit(cache=CACHE)
def _scale(v: FloatArray, speed: float) -> None:
    factor = speed / math.sqrt(v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
    for c in range(3):
        v[c] *= factor
