"""The chapter's notebooks with a reader's parameters.

Bad values are met in one sentence that names the parameter, at once; allowed ones
never contradict the ledger, whose claims are then *not applicable*.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import jupytext
import matplotlib
import matplotlib.pyplot as plt
import pytest

BOOK = Path(__file__).parents[2]
NOTEBOOKS = BOOK / "notebooks" / "truthful"

ONE_TEAM = """
agents:
  - {name: ada, box: [[-1, 1]], target: [0.5]}
constraints:
  - {Q: [[2]], a: [0], c: -0.1}
"""

STAR = """
agents:
  - {name: hub, box: [[-1, 1]], target: [0.5]}
  - {name: end, box: [[-1, 1]], target: [-0.9]}
constraints:
""" + "".join(f"  - {{pairs: [[hub, end]], limit: {1 + k}.0}}\n" for k in range(18))


def execute(name: str, parameters: dict[str, Any]) -> str:
    """Run a notebook's cells with other parameters; return what it prints."""
    space: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    with contextlib.chdir(NOTEBOOKS), contextlib.redirect_stdout(printed):
        for cell in jupytext.read(f"{name}.md").cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, name, "exec"), space)
                if "parameters" in cell.metadata.get("tags", []):
                    assert set(parameters) <= set(space)
                    space.update(parameters)
    return printed.getvalue()


@pytest.fixture(autouse=True)
def _no_windows():
    matplotlib.use("agg")
    with plt.rc_context():
        yield
    plt.close("all")


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *((name, {"epsilon": bad}) for name in ("02_noise", "03_privacy")
          for bad in (0, -1.0, 1e-7, "1", float("nan"), 101.0)),
        *((name, {"B": bad}) for name in ("02_noise", "03_privacy")
          for bad in (0, 1e-7, "3", 20.5)),
        ("04_convergence", {"epsilon": 0}),
        ("04_convergence", {"B": -1.0}),
        ("04_convergence", {"steps": 999}),
        ("04_convergence", {"steps": 250_001}),
        ("04_convergence", {"live": 1}),
        ("04_convergence", {"live": 2.5}),
        ("05_incentives", {"epsilon": 0}),
        ("05_incentives", {"B": 0}),
        ("05_incentives", {"agent": 9}),
        ("06_deterrence", {"epsilon": 0}),
        ("06_deterrence", {"B": 0}),
        ("06_deterrence", {"agent": 9}),
        ("06_deterrence", {"steps": 1}),
        ("06_deterrence", {"runs": 1}),
        ("07_your_team", {"epsilon": 0}),
        ("07_your_team", {"B": "1"}),
        ("07_your_team", {"problem_file": ""}),
        ("07_your_team", {"steps": 0}),
        ("07_your_team", {"runs": 1}),
        ("07_your_team", {"seed": -1}),
        ("08_batch", {"epsilon": 0, "noise": "table"}),
        ("08_batch", {"epsilon": "1", "noise": "none"}),
        ("08_batch", {"B": 0}),
        ("08_batch", {"steps": 0}),
        ("08_batch", {"steps": 2 * 10**21}),
        ("08_batch", {"agent": 0}),
        ("08_batch", {"agent": 4, "problem_file": "my_team.yml"}),
        ("08_batch", {"noise": "table", "problem_file": "my_team.yml", "agent": 1}),
        ("08_batch", {"noise": "loud"}),
        ("08_batch", {"lie": "white"}),
    ],
)  # fmt: skip
def test_a_bad_value_is_one_sentence(name: str, bad: dict[str, Any]) -> None:
    sentence = re.compile(
        rf"The '({'|'.join(bad)})' parameter of \S+ must be .* Got .* instead\.", re.S
    )
    with pytest.raises((TypeError, ValueError)) as caught:
        execute(name, bad)
    assert sentence.fullmatch(str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("lie", "noise"),
    [
        ("none", "none"),
        ("target", "table"),
        ("corner", "calibrated"),
        ("best", "repaired"),
        ("pretend", "table"),
    ],
)
def test_every_lie_and_every_noise_in_the_batch_notebook(lie: str, noise: str) -> None:
    execute("08_batch", {"lie": lie, "noise": noise, "steps": 1})


@pytest.mark.parametrize("text", [ONE_TEAM, STAR])
@pytest.mark.parametrize("name", ["07_your_team", "08_batch"])
def test_teams_of_a_reader(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "team.yml"
    path.write_text(text)
    more = {"agent": 1, "lie": "best"} if name == "08_batch" else {"runs": 2}
    execute(name, {"problem_file": str(path), "steps": 20, **more})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("01_problem", {"steps": 1000, "gamma_bar": 0.05, "alpha_bar": 12.6}),
        ("02_noise", {"epsilon": 100.0, "B": 20.0, "seed": 1}),
        ("02_noise", {"epsilon": 1e-6, "B": 1e-6}),
        ("03_privacy", {"epsilon": 1e-6, "B": 1e-6}),
        ("03_privacy", {"epsilon": 100.0, "seed": 3}),
        ("04_convergence", {"steps": 1000, "live": 2, "seed": 9}),
        ("04_convergence", {"steps": 1000, "live": 2, "epsilon": 20.0, "B": 0.01}),
        # Agents 1 and 5 gain nothing by the opposite corner in so few steps, and the
        # lie of agent 2 does not reach everybody: this contradicted the ledger.
        *(("05_incentives", {"agent": k}) for k in (1, 2, 5)),
        *(("06_deterrence", {"steps": 1000, "runs": 2, "agent": k}) for k in (1, 2, 5)),
    ],
)
def test_allowed_values_never_contradict_the_ledger(
    name: str, values: dict[str, Any]
) -> None:
    execute(name, values)
