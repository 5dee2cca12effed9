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

Every bad input is met with one sentence that names the file, the place, what it must
be, and what it was.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dplib import check, strict_yaml
from dplib.mdp.factored import FactoredMDP
from dplib.mdp.gridworld import ACTIONS, SLIP_LAWS, gridworld
from dplib.rewards.examples import Example
from dplib.rewards.tables import joint_reward

__all__ = ["RewardFile", "RewardFileError", "read_rewards"]

FloatArray = NDArray[np.float64]

#: Most joint state-action pairs: what a notebook solves many times within a minute.
MOST_PAIRS = 50_000

#: Most agents, and most numbers in the transitions of one.
MOST_AGENTS, MOST_NUMBERS = 16, 1_000_000

_OWN = object()  # the value is the field's own


class RewardFileError(ValueError):
    """A file does not describe a team and its rewards; the message says why."""


@dataclass(frozen=True, eq=False)
class RewardFile:
    """A team whose agents have names, and the privacy that its rewards shall have.

    Attributes
    ----------
    example : Example
        Dynamics, rewards and start. The goal is the largest joint reward, the first
        if there are several.
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


@dataclass(frozen=True)
class _Part:
    """A mapping of the file, with the words that find it."""

    place: str
    raw: dict[str, Any]

    @classmethod
    def of(
        cls, place: str, raw: object, required: tuple[str, ...], optional: str = ""
    ) -> _Part:
        """Return the mapping, checked to have the fields it may have."""
        if not isinstance(raw, dict):
            raise RewardFileError(
                f"{place}: must be a mapping of fields. Got {strict_yaml.shown(raw)}."
            )
        part = cls(place, raw)
        known = (*required, *optional.split())
        for field in raw:
            if field not in known:
                words = "one of the fields " + ", ".join(known)
                part.fail(str(field), words, "an unknown field")
        for field in required:
            if field not in raw:
                part.fail(field, "given", "nothing")
        return part

    def fail(self, field: str, must: str, got: object) -> NoReturn:
        text = got if isinstance(got, str) else strict_yaml.shown(got)
        field, text = (strict_yaml.plain(one, 80) for one in (field, text))
        must = strict_yaml.plain(must, 400)
        raise RewardFileError(f"{self.place}: '{field}' must be {must}. Got {text}.")

    def number(
        self,
        field: str,
        low: float = -1e6,
        high: float = 1e6,
        got: object = _OWN,
        place: str = "",
    ) -> float:
        value = self.raw[field] if got is _OWN else got
        must = f"a number from {low:g} to {high:g}{place and f' in {place}'}"
        if isinstance(value, str) and "e" in value.lower():
            # YAML takes 1e-5 for text: it wants a point before the exponent.
            must += " (with a point before e: 1.0e-5)"
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(field, must, value)
        if not low <= value <= high:
            self.fail(field, must, value)
        return float(value)

    def whole(self, field: str, low: int, high: int, got: object = _OWN) -> int:
        value = self.raw[field] if got is _OWN else got
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(field, f"a whole number from {low} to {high}", value)
        if not low <= value <= high:
            self.fail(field, f"a whole number from {low} to {high}", value)
        return value

    def items(self, field: str) -> list[Any]:
        value = self.raw[field]
        if not isinstance(value, list) or not value:
            self.fail(field, "a list of at least one entry", value)
        return value


def read_rewards(path: str | Path) -> RewardFile:
    """Return the team, its rewards and its privacy that a YAML file describes.

    Parameters
    ----------
    path : str or pathlib.Path
        The file; its form is at the head of `dplib.rewards.files`.

    Returns
    -------
    RewardFile

    Raises
    ------
    RewardFileError
        In one sentence: the file is missing or not YAML, a field is missing, unknown
        or of the wrong kind, probabilities do not add up to 1, a name is unknown or
        used twice, all joint rewards are equal, or the team is too large.

    Examples
    --------
    >>> read_rewards("nowhere.yml")
    Traceback (most recent call last):
    ...
    dplib.rewards.files.RewardFileError: nowhere.yml: there is no such file.
    """
    if not isinstance(path, str | Path):
        check.fail("path", "read_rewards", "a path", path, TypeError)
    path = Path(path)
    file = path.name
    raw = strict_yaml.load(path, RewardFileError)
    whole = _Part.of(file, raw, ("discount", "agents", "rewards", "privacy"))
    discount = whole.number("discount", 0.01, 0.9999)
    names: list[str] = []
    laws: list[FloatArray] = []
    words: list[tuple[str, ...]] = []
    starts: list[int] = []
    agents = whole.items("agents")
    if len(agents) > MOST_AGENTS:
        whole.fail("agents", f"at most {MOST_AGENTS}", f"{len(agents)}")
    for number, item in enumerate(agents, start=1):
        part = _Part.of(
            f"{file}: agent {number}", item, ("name", "start"), "grid transitions"
        )
        name = part.raw["name"]
        if not isinstance(name, str) or not name.isprintable() or not name.strip():
            part.fail("name", "a word of printable letters", name)
        if len(name) > 40:
            part.fail("name", "a word of at most 40 letters", name)
        if name in names:
            part.fail("name", "a word, used once", name)
        law, known = _dynamics(part)
        names.append(name)
        laws.append(law)
        words.append(known)
        starts.append(part.whole("start", 0, law.shape[0] - 1))
    n = [law.shape[0] for law in laws]
    pairs = math.prod(n) * math.prod(law.shape[1] for law in laws)
    if pairs > MOST_PAIRS:
        must = f"fewer: together at most {MOST_PAIRS} joint states times actions"
        whole.fail("agents", must, f"{pairs}")
    m = [law.shape[1] for law in laws]
    tables = _rewards(whole, names, n, m, words)
    joint = joint_reward(tables)
    if np.ptp(joint) == 0.0:
        whole.fail("rewards", "such that some joint reward is the largest", "all equal")
    goal = int(joint.argmax())
    example = Example(
        model=FactoredMDP(tuple(laws), discount),
        tables=tuple(tables),
        goal_state=goal // joint.shape[1],
        goal_action=goal % joint.shape[1],
        start=int(np.ravel_multi_index(tuple(starts), tuple(n))),
    )
    return RewardFile(example, tuple(names), *_privacy(whole))


def _dynamics(part: _Part) -> tuple[FloatArray, tuple[str, ...]]:
    """Return an agent's transitions, and the words for its actions, if it has any."""
    if ("grid" in part.raw) == ("transitions" in part.raw):
        part.fail("grid", "given, or else 'transitions', one of the two", "not one")
    if "grid" in part.raw:
        place = f"{part.place}: grid"
        grid = _Part.of(place, part.raw["grid"], ("rows", "columns", "slip", "law"))
        if grid.raw["law"] not in SLIP_LAWS:
            grid.fail("law", "one of " + ", ".join(SLIP_LAWS), grid.raw["law"])
        law = gridworld(
            grid.whole("rows", 1, 20),
            grid.whole("columns", 1, 20),
            slip=grid.number("slip", 0.0, 1.0),
            law=grid.raw["law"],
        )
        return law, ACTIONS
    law = _law(part)
    sums = law.sum(axis=2)
    if np.abs(sums - 1.0).max() > 1e-9:
        s, a = np.unravel_index(np.abs(sums - 1.0).argmax(), sums.shape)
        got = f"{sums[s, a]:.6g} in state {s}, action {a}"
        part.fail("transitions", "probabilities that add up to 1", got)
    return law, ()


def _law(part: _Part) -> FloatArray:
    """Return an agent's transitions as an array, every number of them checked."""
    states = part.items("transitions")
    n, m = len(states), len(states[0]) if isinstance(states[0], list) else 0
    # Before anything is unfolded: a short file can stand for very many numbers.
    if n * max(m, 1) > MOST_PAIRS or n * m * n > MOST_NUMBERS:
        must = f"at most {MOST_NUMBERS} numbers, for {MOST_PAIRS} states times actions"
        part.fail("transitions", must, f"{n} states of {m} actions")
    must = "a list of states of lists of actions of lists of probabilities"
    for s, rows in enumerate(states):
        if not isinstance(rows, list) or len(rows) != m or m == 0:
            part.fail("transitions", f"{must}, {m} actions in state {s} as in 0", rows)
        for a, row in enumerate(rows):
            place = f"state {s}, action {a}"
            if not isinstance(row, list) or len(row) != n:
                part.fail("transitions", f"{must}, {n} of them in {place}", row)
            for one in row:
                part.number("transitions", 0.0, 1.0, got=one, place=place)
    return np.array(states, dtype=float)


def _rewards(
    whole: _Part,
    names: list[str],
    n: list[int],
    m: list[int],
    words: list[tuple[str, ...]],
) -> list[FloatArray]:
    """Return every agent's table, the rules applied in their order."""
    place = f"{whole.place}: rewards"
    part = _Part.of(place, whole.raw["rewards"], ("default", "rules"))
    default = part.number("default")
    tables = [np.full((math.prod(n), k), default) for k in m]
    local = np.unravel_index(np.arange(math.prod(n)), tuple(n))
    known_names = ", ".join(names)
    for number, item in enumerate(part.items("rules"), start=1):
        rule = _Part.of(f"{place}: rule {number}", item, ("reward",), "at who action")
        reward = rule.number("reward")
        here = np.ones(math.prod(n), dtype=bool)
        at = rule.raw.get("at", {})
        if not isinstance(at, dict):
            rule.fail("at", "a mapping of agents to local states", at)
        for name, state in at.items():
            if name not in names:
                rule.fail("at", f"agents among {known_names}", name)
            i = names.index(name)
            here &= local[i] == rule.whole("at", 0, n[i] - 1, got=state)
        who = rule.raw.get("who", names)
        if who == []:
            rule.fail("who", f"one agent or more among {known_names}", who)
        for name in who if isinstance(who, list) else [who]:
            if name not in names:
                rule.fail("who", f"agents among {known_names}", name)
            i = names.index(name)
            for action in _actions(rule, words[i], m[i]):
                tables[i][here, action] = reward
    return tables


def _actions(rule: _Part, words: tuple[str, ...], count: int) -> list[int]:
    """Return the own actions that a rule is about."""
    if "action" not in rule.raw:
        return list(range(count))
    action = rule.raw["action"]
    if isinstance(action, str):
        if action not in words:
            must = f"a number from 0 to {count - 1}"
            must += f" or one of {', '.join(words)}" if words else ""
            rule.fail("action", must, action)
        return [words.index(action)]
    return [rule.whole("action", 0, count - 1)]


def _privacy(whole: _Part) -> tuple[float, float, tuple[float, ...]]:
    """Return b, delta and the levels of epsilon."""
    place = f"{whole.place}: privacy"
    part = _Part.of(place, whole.raw["privacy"], ("b", "delta", "epsilon"))
    levels = [part.number("epsilon", 0.01, 100.0, got=e) for e in part.items("epsilon")]
    if any(late <= early for early, late in itertools.pairwise(levels)):
        part.fail("epsilon", "an ascending list", levels)
    b = part.number("b", 1e-9, 1e6)
    return b, part.number("delta", 1e-12, 0.49), tuple(levels)
