"""Your own rewards: a team, its rewards and its privacy, read from a small YAML file.

Benvenuti et al., Sections 2.1 and 2.2: agents with local states and actions; a reward
for each joint state and own action; one reward may differ by b.

A file holds::

    discount: 0.95
    agents:
      - name: picker
        grid: {rows: 3, columns: 3, slip: 0.1, law: other action}
        start: 8                        # local state; cells count row by row
      - name: gate
        transitions:                    # or probabilities, [state][action][state]
          - [[1, 0], [0.1, 0.9]]
          - [[0, 1], [0.9, 0.1]]
        start: 0
    rewards:
      default: -1
      rules:                            # a later rule wins
        - at: {picker: 0, gate: 1}      # where these agents are; others anywhere
          who: picker                   # whose reward; all agents' if left out
          action: stay                  # of the own actions; any if left out
          reward: 5
    privacy: {b: 1.0, delta: 0.01, epsilon: [0.5, 1, 2, 5]}
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplib.mdp.factored import FactoredMDP
from dplib.mdp.gridworld import ACTIONS, SLIP_LAWS, gridworld
from dplib.reader_files import ReaderFileError, load, refuse
from dplib.rewards.paper import Example

__all__ = ["RewardFile", "read_rewards"]

FloatArray = NDArray[np.float64]
Schema = dict[str, Any]

#: Most joint state-action pairs: what a notebook solves many times within a minute.
MOST_PAIRS = 50_000


def _number(kind: str, low: float, high: float) -> Schema:
    word = "whole number" if kind == "integer" else "number"
    must = f"a {word} from {low:g} to {high:g}"
    return {"type": kind, "minimum": low, "maximum": high, "must": must}


def _list(items: Schema) -> Schema:
    must = "a list of at least one entry"
    return {"type": "array", "items": items, "minItems": 1, "must": must}


def _mapping(required: Schema, optional: Schema | None = None) -> Schema:
    fields = required | (optional or {})
    return {
        "type": "object",
        "required": list(required),
        "properties": fields,
        "additionalProperties": False,
        "must": "a mapping of the fields " + ", ".join(fields),
    }


_NAME = {"type": "string", "pattern": r"^\w{1,40}$", "must": "one short word"}
_STATE = {"type": "integer", "must": "the number of a local state"}
_REWARD, _PROBABILITY = _number("number", -1e6, 1e6), _number("number", 0, 1)
_GRID = _mapping(
    {
        "rows": _number("integer", 1, 20),
        "columns": _number("integer", 1, 20),
        "slip": _PROBABILITY,
        "law": {"enum": list(SLIP_LAWS), "must": "one of " + ", ".join(SLIP_LAWS)},
    }
)
_AGENT = _mapping(
    {"name": _NAME, "start": _STATE},
    {"grid": _GRID, "transitions": _list(_list(_list(_PROBABILITY)))},
)
_AGENT |= {"minProperties": 3, "maxProperties": 3}
_AGENT["must"] = "a mapping of name, start, and one of grid and transitions"
_RULE = _mapping(
    {"reward": _REWARD},
    {
        "at": {"type": "object", "additionalProperties": _STATE},
        "who": {"type": ["string", "array"], "minItems": 1},
        "action": {"type": ["string", "integer"]},
    },
)
_SCHEMA = _mapping(
    {
        "discount": _number("number", 0.01, 0.9999),
        "agents": _list(_AGENT),
        "rewards": _mapping({"default": _REWARD, "rules": _list(_RULE)}),
        "privacy": _mapping(
            {
                "b": _number("number", 1e-9, 1e6),
                "delta": _number("number", 1e-12, 0.49),
                "epsilon": _list(_number("number", 0.01, 100)),
            }
        ),
    }
)


@dataclass(frozen=True, eq=False)
class RewardFile:
    """A team whose agents have names, and the privacy that its rewards shall have.

    Attributes
    ----------
    example : Example
        Dynamics, rewards and start.
    names : tuple of str
        Names of the agents.
    b : float
        How much one reward may differ.
    delta : float
        Between 0 and 1/2.
    epsilon : tuple of float
        Ascending, in nats.
    """

    example: Example
    names: tuple[str, ...]
    b: float
    delta: float
    epsilon: tuple[float, ...]


def read_rewards(path: str | Path) -> RewardFile:
    """Return the team, its rewards and its privacy that a YAML file describes.

    Raises
    ------
    ReaderFileError
        One sentence says which place of the file must be what.

    Examples
    --------
    >>> read_rewards("nowhere.yml")
    Traceback (most recent call last):
    ...
    dplib.reader_files.ReaderFileError: nowhere.yml: No such file or directory.
    """
    path = Path(path)
    held = load(path, _SCHEMA)
    agents, privacy = held["agents"], held["privacy"]
    names = tuple(agent["name"] for agent in agents)
    if len(set(names)) < len(names):
        raise refuse(path, "agents", "agents of different names", names)
    try:
        laws = [
            gridworld(**agent["grid"]) if "grid" in agent else agent["transitions"]
            for agent in agents
        ]
        model = FactoredMDP(tuple(laws), held["discount"])
    except (TypeError, ValueError) as error:
        raise ReaderFileError(f"{path.name}: {error}") from None
    pairs = model.n_states * model.n_actions
    if pairs > MOST_PAIRS:
        must = f"fewer, for at most {MOST_PAIRS} joint states times joint actions"
        raise refuse(path, "agents", must, pairs)
    starts = [
        _index(path, f"agents[{i}].start", range(count), agents[i]["start"])
        for i, count in enumerate(model.states)
    ]
    start = int(np.ravel_multi_index(starts, model.states))
    example = Example(model, _tables(path, held, model), start)
    if np.ptp(example.rewards) == 0.0:
        must = "such that some joint reward is the largest"
        raise refuse(path, "rewards", must, "all equal")
    levels = tuple(sorted(set(privacy["epsilon"])))
    return RewardFile(example, names, privacy["b"], privacy["delta"], levels)


def _tables(
    path: Path, held: dict[str, Any], model: FactoredMDP
) -> tuple[FloatArray, ...]:
    """Return every agent's rewards, the rules applied in their order."""
    agents, rewards = held["agents"], held["rewards"]
    names = [agent["name"] for agent in agents]
    default = float(rewards["default"])
    tables = tuple(np.full((model.n_states, m), default) for m in model.actions)
    local = np.unravel_index(np.arange(model.n_states), model.states)
    for number, rule in enumerate(rewards["rules"]):
        place = f"rewards.rules[{number}]"
        here = np.ones(model.n_states, dtype=bool)
        for name, state in rule.get("at", {}).items():
            i = _index(path, f"{place}.at", names, name)
            known = range(model.states[i])
            here &= local[i] == _index(path, f"{place}.at.{name}", known, state)
        who = rule.get("who", names)
        for name in [who] if isinstance(who, str) else who:
            i = _index(path, f"{place}.who", names, name)
            m, own = model.actions[i], rule.get("action")
            if own is None:
                tables[i][here] = rule["reward"]
                continue
            words = ACTIONS if "grid" in agents[i] else ()  # as many as numbers
            own = _index(path, f"{place}.action", [*words, *range(m)], own) % m
            tables[i][here, own] = rule["reward"]
    return tables


def _index(path: Path, place: str, known: Sequence[object], got: object) -> int:
    """Return where something known stands in the order of what is known."""
    if got not in known:
        raise refuse(path, place, f"one of {reprlib.repr(list(known))}", got)
    return known.index(got)
