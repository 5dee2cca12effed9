"""Every public function of the room says in one sentence what it was given wrongly."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dplib.truthful as room
from dplib.truthful.problem import Problem, hale_egerstedt

# Called once a step, and documented as not checked; or compiled.
UNCHECKED = {
    ("algorithm", "project_box"),
    ("algorithm", "project_multipliers"),
    ("algorithm", "messages"),
    ("algorithm", "step"),
    ("kernel", "advance"),
}

JUNK: list[Any] = [
    float("nan"),
    float("inf"),
    -1,
    -1.5,
    True,
    "a",
    None,
    [],
    np.array([np.nan]),
    np.ma.array([1.0, 2.0], mask=[0, 1]),
    2**80,
    1 + 2j,
    np.zeros(0),
    np.zeros((3, 3, 3)),
    {"a": 1},
]


ONE_SENTENCE = re.compile(
    r"parameter of .* must .* Got .* instead\.|there is no such file\.$", re.DOTALL
)


def sentence(
    function: Callable[..., Any], plain: list[Any], named: dict[str, Any]
) -> str | None:
    """Return what the refusal says; other exceptions pass through and fail."""
    try:
        function(*plain, **named)
    except RuntimeError:
        # Documented, and no refusal: 2**80 may be a fair weight, on which a solver's
        # last steps, and so its status, depend on the processor.
        return None
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def functions() -> Iterator[Callable[..., Any]]:
    for module in pkgutil.iter_modules(room.__path__):
        if module.name.startswith("_"):  # not for readers
            continue
        loaded = importlib.import_module(f"dplib.truthful.{module.name}")
        for name in loaded.__all__:
            function = getattr(loaded, name)
            if inspect.isfunction(function) and (module.name, name) not in UNCHECKED:
                yield function


@pytest.mark.parametrize("instance", [hale_egerstedt(), None])
@pytest.mark.parametrize(
    "function", list(functions()), ids=lambda one: f"{one.__module__}.{one.__name__}"
)
def test_junk_is_refused_in_one_sentence(
    function: Callable[..., Any], instance: Problem | None
) -> None:
    required = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    for junk in JUNK:
        values = {
            p.name: instance if p.name == "problem" and instance is not None else junk
            for p in required
        }
        plain = [values[p.name] for p in required if p.kind is not p.KEYWORD_ONLY]
        named = {p.name: values[p.name] for p in required if p.kind is p.KEYWORD_ONLY}
        said = sentence(function, plain, named)
        assert said is None or ONE_SENTENCE.search(said), f"{junk!r}: {said}"
