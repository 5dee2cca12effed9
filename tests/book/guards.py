"""What a notebook pair must be, checked on the files alone: nothing is executed.

Each guard takes one ``.md`` of a pair and returns the problems it found, one
sentence each. `test_guards.py` runs them over the book;
`test_guards_bite.py` breaks a notebook on purpose and expects each to notice.
Whether stored outputs are what the code gives is nbval's question, not theirs.
"""

from __future__ import annotations

import ast
import datetime
import itertools
import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
from code_guards import checks, randomness

from dplib import sweep
from dplib.book import claims, figures, ledger, notebooks, stored_change
from dplib.book.stored import StoredError

Guard = Callable[[Path], list[str]]

BUDGET_NOTEBOOK = 90.0  # CPU seconds
BUDGET_CHAPTER = 450.0
WIDTH = 80
TYPE = 10  # points, of figures: 11 pixels on a phone (book.css)
WIDEST = 0.1  # tolerance of a printed number, relative

_FOLDERS = (
    "home|root|work|workspace|Users|tmp|usr|opt|etc|mnt|media|var|private|srv|data|"
    "scratch|nix|Volumes|Library|Applications"
)
#: A path of somebody's machine. (An address on the network is none.)
ABSOLUTE = re.compile(
    rf"(?:(?<![\w./~-])|file://(?:localhost)?)/(?:{_FOLDERS})/[\w.]"
    r"|\b[A-Za-z]:(?:\\\\?|/)(?:Users|home|Documents)\b"
)
#: The size of the type of a text that matplotlib has drawn, over a hundred points.
_SIZE = re.compile(r"scale\((0?\.\d+) -")
_TAGS = {"parameters", "hide-input", "hide-cell", "remove-input"}
# All metadata that a cell may have; others change what the page shows of it.
_METADATA = {
    *("tags", "mystnb.figure.name", "mystnb.figure.caption", "mystnb.image.alt"),
    "mystnb.code_prompt_show",
}
_TYPES = {
    "text/plain",
    "text/html",
    "image/svg+xml",
    claims.MIME_TYPE,
    sweep.MIME_TYPE,
}


def root_of(source: Path) -> Path:
    return source.parent.parent.parent


def stored(source: Path) -> Any:
    """Return the ``.ipynb`` of a pair as it stands on disk."""
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def _code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _outputs(notebook: Any) -> Iterator[tuple[Any, Any]]:
    for cell in _code(notebook):
        for output in cell.outputs:
            yield cell, output


def pair(source: Path) -> list[str]:
    """Both files exist, agree cell by cell, and are as `refresh` writes them."""
    other = source.with_suffix(".ipynb")
    if not other.is_file():
        return [f"{source.name} has no .ipynb beside it: make refresh"]
    try:
        ours, theirs = notebooks.read_source(source), stored(source)
    except notebooks.NotebookError as error:
        return [str(error)]

    def cells(notebook: Any) -> list[tuple[str, str, dict[str, Any]]]:
        return [(c.cell_type, c.source, dict(c.metadata)) for c in notebook.cells]

    if cells(ours) != cells(theirs):
        return ["the .md and the .ipynb differ in their cells: make refresh"]
    try:
        nbformat.validate(theirs)
    except nbformat.ValidationError as error:  # an output without its parts
        return [f"the .ipynb is not as nbformat has it: {error.message}"]
    # The .ipynb is the cells of the .md, with outputs and counts, and no more.
    for cell, found in zip(_code(ours), _code(theirs), strict=True):
        cell.outputs, cell.execution_count = found.outputs, found.execution_count
    written = {
        source: notebooks.source_text(ours),
        other: notebooks.verified_text(ours),
    }
    return [
        f"the {path.suffix} is not as refresh writes it: make refresh"
        for path, text in written.items()
        if path.read_bytes() != text.encode()
    ]


def executed(source: Path) -> list[str]:
    """Every code cell ran once, in order, and left no error or warning."""
    notebook = stored(source)
    counts = [cell.execution_count for cell in _code(notebook)]
    problems = []
    if counts != list(range(1, len(counts) + 1)):
        problems.append(f"execution counts are {counts}, not 1..{len(counts)}")
    for cell, output in _outputs(notebook):
        if output.output_type == "error":
            problems.append(f"a stored error: {output.ename}")
        if output.output_type == "stream" and output.name == "stderr":
            problems.append(f"a stored warning: {output.text.strip()[:60]}")
        count = output.get("execution_count")
        if count is not None and count != cell.execution_count:
            problems.append("an output of another execution than its cell's")
    if not any(True for _ in _outputs(notebook)):
        problems.append("no stored output: nbval would pass it unseen")
    return problems


def parameters(source: Path) -> list[str]:
    """One parameters cell comes first: literals, one a line, each explained."""
    cells = _code(stored(source))
    tagged = [c for c in cells if "parameters" in c.metadata.get("tags", [])]
    if len(tagged) != 1:
        return [f"{len(tagged)} cells are tagged 'parameters', not one"]
    problems = []
    if cells[0] is not tagged[0]:
        problems.append("the parameters cell is not the first code cell")
    lines = tagged[0].source.splitlines()
    try:
        body = ast.parse(tagged[0].source).body
    except SyntaxError:
        return [*problems, "the parameters cell is not Python"]
    for node in body:
        line = lines[node.lineno - 1]
        if not isinstance(node, ast.Assign) or node.lineno != node.end_lineno:
            problems.append(f"not a one-line assignment among the parameters: {line}")
            continue
        try:
            ast.literal_eval(node.value)
        except ValueError:
            problems.append(f"not a plain literal among the parameters: {line}")
        if "#" not in line:
            problems.append(f"a parameter without unit and range in a comment: {line}")
    return problems


def _leaves(value: Any, name: str = "") -> Iterator[str]:
    """Yield the dotted names of what nested metadata hold."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name


def magics(source: Path) -> list[str]:
    """All code is plain Python, and no cell asks nbval to look away."""
    problems = [
        f"a text with the tags {', '.join(cell.metadata['tags'])}"
        for cell in stored(source).cells
        if cell.cell_type != "code" and cell.metadata.get("tags")
    ]
    for cell in _code(stored(source)):
        try:
            ast.parse(cell.source)
        except SyntaxError as error:
            problems.append(f"a cell is not plain Python: {error.text}")
        tags = sorted(set(cell.metadata.get("tags", [])) - _TAGS)
        problems += [f"the tag '{tag}' hides a cell from the tests" for tag in tags]
        unknown = sorted(set(_leaves(cell.metadata)) - _METADATA)
        problems += [f"cell metadata that no page needs: {name}" for name in unknown]
        if re.search(r"#\s*(NBVAL|PYTEST_VALIDATE)_", cell.source):
            problems.append("an NBVAL comment hides a cell from the tests")
    return problems


def paths(source: Path) -> list[str]:
    """No absolute path of somebody's machine, in cells, headers or outputs."""
    texts = [source.read_text(encoding="utf-8"), *_texts(stored(source).cells)]
    return list(dict.fromkeys(machine_paths("\n".join(texts))))


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of nested lists and mappings, as it is: unescaped."""
    if isinstance(value, dict):
        yield from (text for pair in value.items() for text in _texts(list(pair)))
    elif isinstance(value, list):
        yield from (text for item in value for text in _texts(item))
    elif isinstance(value, str):
        yield value


def machine_paths(text: str) -> list[str]:
    """Return a sentence for each path of a machine in a text."""
    return [
        f"an absolute path: {text[found.start() :][:40]!r}"
        for found in ABSOLUTE.finditer(text)
    ]


def images(source: Path) -> list[str]:
    """Figures are canonical SVG, and each has a name, a caption and alt text."""
    problems = []
    for cell, output in _outputs(stored(source)):
        data = output.get("data", {})
        bitmaps = [kind for kind in data if kind not in _TYPES]
        problems += [f"an output of type {kind}, which nbval skips" for kind in bitmaps]
        rich = bool(set(data) - {"text/plain"})
        if data and rich != (output.output_type == "display_data"):
            what = "a figure or verdict" if rich else "a plain value"
            problems.append(f"{what} as {output.output_type}")
        if "image/svg+xml" not in data:
            continue
        svg = data["image/svg+xml"]
        if figures.canonical_svg(svg) != svg:
            problems.append(
                "a figure that is not canonical SVG: use dplib.book.figures.show"
            )
        size = min(map(float, _SIZE.findall(svg)), default=1.0)
        if size < TYPE / 100:
            problems.append(f"a figure with type of {100 * size:g} points, not {TYPE}")
        header = cell.metadata.get("mystnb", {})
        image, figure = header.get("image") or {}, header.get("figure") or {}
        if not str(image.get("alt") or "").strip():
            problems.append("a figure without alt text (mystnb: image: alt)")
        for part in ("name", "caption"):
            if not str(figure.get(part) or "").strip():
                problems.append(f"a figure without {part} (mystnb: figure: {part})")
    return problems


#: Chapters that reproduce no paper: no ledger, but formulas that are asserted.
WITHOUT_PAPER = {"start"}


def asserted(source: Path) -> list[str]:
    """A page without a ledger has no claim, and asserts something computed."""
    found = [o for _, o in _outputs(stored(source)) if claims.MIME_TYPE in str(o)]
    problems = ["a claim on a page of no paper"] if found else []
    tests = [
        node.test
        for cell in _code(stored(source))
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Assert)
    ]
    computed = [
        isinstance(test, ast.Compare)
        and any(isinstance(node, ast.Name) for node in ast.walk(test))
        for test in tests
    ]
    if not computed or not all(computed):
        problems.append("a page of no paper asserts its formulas: assert a < b")
    return problems


def verdicts(source: Path) -> list[str]:
    """Ledger and stored claims agree: each claim checked once, words and all."""
    if source.parent.name in WITHOUT_PAPER:
        return asserted(source)
    name, notebook = notebooks.name_of(source), stored(source)
    path = root_of(source) / "book" / "claims" / f"{source.parent.name}.yml"
    wanted = {claim.id: claim for claim in ledger.load_chapter(path).of_notebook(name)}
    seen: list[str] = []
    problems = [] if wanted else ["the ledger assigns no claim to the notebook"]
    for cell, output in _outputs(notebook):
        found = output.get("data", {}).get(claims.MIME_TYPE)
        if found is None:
            continue
        seen.append(found["id"])
        claim = wanted.get(found["id"])
        if claim is None:
            problems.append(
                f"{found['id']}: not a claim of this notebook in the ledger"
            )
            continue
        says = {"printed": list(claim.printed), "at": dict(claim.at)}
        for part in ("where", "kind", "level", "says", "evidence", "verdict"):
            says[part] = getattr(claim, part)
        problems += [
            f"{claim.id}: '{part}' is not the ledger's"
            for part, text in says.items()
            if found[part] != text
        ]
        low, high = found["interval"] or (None, None)
        if (low is not None and found["value"] < low) or (
            high is not None and found["value"] > high
        ):
            problems.append(f"{claim.id}: its value lies outside its own interval")
        if claim.id not in cell.source:
            problems.append(f"{claim.id}: stored in a cell that does not check it")
    problems += [
        f"{claim_id}: checked {seen.count(claim_id)} times, not once"
        for claim_id in wanted
        if seen.count(claim_id) != 1
    ]
    last = _code(notebook)[-1].source if _code(notebook) else ""
    if not re.search(r"\.table\(\)\s*$", last):
        problems.append("the last code cell does not end with the claim table")
    return problems


# -- one story a page ------------------------------------------------------------

LARGEST = 20  # lines of a cell that a reader sees
VISIBLE = 100  # lines of code that a reader sees on a page: about 80
LINE = 92  # characters of a verdict's word and finding: one line on a desk

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}|:{3,})\{([\w:-]+)\}[ \t]*(.*)$")
_OPTION = re.compile(r"^[ \t]*:?([\w-]+):[ \t]*(.*)$")


def directives(text: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield name, title and options of each directive, whatever fence it has."""
    rows = text.splitlines()
    for at, row in enumerate(rows):
        if opened := _FENCE.match(row):
            below = rows[at + 1 :]
            if below and below[0].strip() == "---":
                below = below[1:]
            given = itertools.takewhile(bool, map(_OPTION.match, below))
            yield (*opened.groups(), {o.group(1): o.group(2) for o in given if o})


def folded(source: Path) -> list[str]:
    """A cell that is folded with its outputs holds settings only, and no figure."""
    problems = []
    for cell, output in _outputs(stored(source)):
        data = output.get("data", {})
        if "hide-cell" not in cell.metadata.get("tags", []):
            continue
        found = data.get(claims.MIME_TYPE)
        if found and not (
            found["kind"] == "definition" or found["level"] in ("input", "step")
        ):
            problems.append(
                f"{found['id']}: a {found['level']} out of sight (hide-cell)"
            )
        if "image/svg+xml" in data:
            problems.append("a figure out of sight (hide-cell)")
    return problems


def visible(notebook: Any) -> Iterator[Any]:
    """Yield the code cells whose code a reader sees: not folded, in no solution."""
    inside = False
    for cell in notebook.cells:
        if cell.cell_type != "code":
            for name, _, _ in directives(cell.source):
                if name in ("solution-start", "solution-end"):
                    inside = name == "solution-start"
        elif not inside and not set(cell.metadata.get("tags", [])) & _FOLDS:
            yield cell


_FOLDS = {"hide-input", "hide-cell", "remove-input"}


def lines(cell: Any) -> int:
    """Return how many lines of a cell have something on them."""
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def story(source: Path) -> list[str]:
    """The page is one story: little visible code, verdicts of one line, exercises."""
    notebook, text = stored(source), source.read_text(encoding="utf-8")
    seen = [(cell.source, lines(cell)) for cell in visible(notebook)]
    problems = [
        f"a visible cell of {count} lines, over {LARGEST}: {code.splitlines()[0]}"
        for code, count in seen
        if count > LARGEST
    ]
    cells = [c for c in _code(notebook) if "hide-cell" in c.metadata.get("tags", [])]
    if len(cells) > 1:
        problems.append(f"{len(cells)} cells with the tag hide-cell, not one")
    if (total := sum(count for _, count in seen)) > VISIBLE:
        problems.append(f"{total} visible lines of code, over {VISIBLE}")
    for cell in visible(notebook):
        if "parameters" in cell.metadata.get("tags", []):
            problems.append("the parameters are not folded")
        if re.search(r"^(?:import|from) ", cell.source, re.M):
            problems.append("imports are not folded")
        if any("image/svg+xml" in out.get("data", {}) for out in cell.outputs):
            problems.append("the code of a figure is not folded")
    for _, output in _outputs(notebook):
        data = output.get("data", {})
        found = data.get(claims.MIME_TYPE)
        if found and "text/plain" in data:
            word = data["text/plain"].split(" | ")[0]
            if (long := len(f"{word} {found['finding']}")) > LINE:
                where = f"{found['id']}: a verdict of {long} characters, over {LINE}"
                problems.append(f"{where} with sign and word: shorten the finding")
    return problems + exercises(text) + errata(text)


def exercises(text: str) -> list[str]:
    """Exercises, each with a folded solution that checks nothing."""
    found = list(directives(text))
    asked = [o.get("label", title) for name, title, o in found if name == "exercise"]
    solved = {
        title
        for name, title, o in found
        if name == "solution-start" and "dropdown" in o.get("class", "").split()
    }
    problems = [
        f"exercise {one}: no {{solution-start}} {one} with :class: dropdown"
        for one in asked
        if one not in solved
    ]
    if not asked:
        problems.append("no {exercise}")
    names = [name for name, _, _ in found]
    if names.count("solution-start") != names.count("solution-end"):
        problems.append("a {solution-start} without {solution-end}, or the reverse")
    for part in re.findall(r"\{solution-start\}.*?\{solution-end\}", text, re.S):
        if re.search(r"\bbook\.", part):
            problems.append("a check inside a solution")
    return problems


def errata(text: str) -> list[str]:
    """Every erratum is an admonition that folds."""
    says = re.compile(r"\berrat(?:um|a)\b", re.I)
    folds = "it must be {admonition} Erratum: ... with :class: warning dropdown"
    return [
        f"an erratum that does not fold, {title}: {folds}"
        for name, title, options in directives(text)
        if (says.search(title) or says.search(name))
        and "dropdown" not in options.get("class", "").split()
    ] + [
        f"an erratum that does not fold, {row}: {folds}"
        for row in text.splitlines()
        if re.match(r"#+ |\*\*", row) and says.search(row[:40])
    ]


def change_it(source: Path) -> list[str]:
    """Below what a stored run shows stands the command for other parameters."""
    notebook = stored(source)
    code = "\n".join(cell.source for cell in _code(notebook))
    wanted = set(re.findall(r'stored\.load\(\s*"([^"]+)"', code))
    problems, offered, folders = [], set(), []
    prose = "\n".join(c.source for c in notebook.cells if c.cell_type != "code")
    for command in re.findall(r"stored change\b((?:\\\n|[^`\n])*)", prose):
        try:
            words = shlex.split(command.replace("\\\n", " "))
            change = stored_change.parse(words, root_of(source))
        except (StoredError, notebooks.NotebookError, ValueError) as error:
            problems.append(f"Change it: {error}")
            continue
        offered.add(change.definition.name)
        folders.append(change.out)
        if change.page != source:
            name = notebooks.name_of(source)
            problems.append(f"Change it: it must show this page: --show {name}")
    if len(set(folders)) < len(folders):
        problems.append("Change it: two commands with one --out")
    return problems + [
        f"no 'Change it' with a command for {one}" for one in sorted(wanted - offered)
    ]


def width(source: Path) -> list[str]:
    """Lines of code stay under 80 characters: wider is cut on paper and phone."""
    return [
        f"a line of {len(line)} characters: {line[:50]}..."
        for cell in _code(stored(source))
        for line in cell.source.splitlines()
        if len(line) >= WIDTH
    ]


def contents(source: Path) -> list[str]:
    """The notebook is in the table of contents, with its extension."""
    toc = (root_of(source) / "_toc.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ *- file: (\S+)$", toc, re.M)
    wanted = f"notebooks/{notebooks.name_of(source)}.ipynb"
    return [] if wanted in listed else [f"_toc.yml does not list {wanted}"]


def budget(source: Path) -> list[str]:
    """The time of the last refresh is noted, and within the budget."""
    try:
        noted = notebooks.read_status(root_of(source))["notebooks"]
    except notebooks.NotebookError as error:
        return [str(error)]
    entry = noted.get(notebooks.name_of(source))
    if entry is None:
        return ["book/status.json does not know the notebook: make refresh"]
    seconds = entry["cpu_seconds"]
    over = seconds > BUDGET_NOTEBOOK
    return [f"{seconds} CPU seconds, over {BUDGET_NOTEBOOK:g}"] if over else []


GUARDS: tuple[Guard, ...] = (
    pair,
    executed,
    parameters,
    magics,
    paths,
    randomness,
    checks,
    images,
    verdicts,
    folded,
    story,
    change_it,
    width,
    contents,
    budget,
)


def problems(source: Path) -> list[str]:
    """Run every guard over one pair; what is no pair stops at the first."""
    return pair(source) or [text for guard in GUARDS[1:] for text in guard(source)]


def book_problems(root: Path) -> list[str]:
    """What no single pair shows: halves without the other, chapters over budget."""
    folder = root / "notebooks"
    names = {notebooks.name_of(path) for path in notebooks.find(root)}
    found = []
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).with_suffix("").as_posix()
        if ".ipynb_checkpoints" in path.parts:
            continue
        if path.suffix == ".ipynb" and not path.with_suffix(".md").is_file():
            found.append(f"{path.relative_to(root)} has no .md beside it")
        if path.suffix == ".md" and path.stem != "index" and place not in names:
            found.append(f"{path.relative_to(root)} is not named CHAPTER/NN_topic.md")
    ledgers = ledger.load_all(root).values()
    for claim in (claim for book in ledgers for claim in book.claims.values()):
        if claim.notebook is not None and claim.notebook not in names:
            found.append(f"{claim.id}: its notebook {claim.notebook} does not exist")
        if claim.tolerance is not None:
            numbers = claim.printed or (claim.ours,)
            if claim.tolerance > WIDEST * max(abs(float(n)) for n in numbers):
                found.append(f"{claim.id}: a tolerance over a tenth of the number")
    return found + status_problems(root, names)


_STATUS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["date", "machine", "versions", "notebooks"],
    "properties": {
        "date": {"type": "string", "pattern": r"^\d{4}-[01]\d-[0-3]\d$"},
        "machine": {"type": "string", "pattern": r"^\w+ \w+, \d+ cores$"},
        "versions": {
            "type": "object",
            "required": ["python", *notebooks.VERSIONED],
            "maxProperties": 1 + len(notebooks.VERSIONED),
            "properties": {"python": {"pattern": r"^3\.1[123]\."}},
        },
        "notebooks": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["key", "cpu_seconds"],
                "properties": {
                    "key": {"type": "string", "pattern": r"^[0-9a-f]{64}$"},
                    "cpu_seconds": {"type": "number", "exclusiveMinimum": 0},
                },
            },
        },
    },
}


def status_problems(root: Path, names: set[str]) -> list[str]:
    """What ``book/status.json`` notes is as `refresh` writes it, and within budget.

    That a notebook's key is the present one is not asked: every edit of the
    library changes keys, and nbval holds the outputs.
    """
    path = root / "book" / "status.json"
    try:
        status = notebooks.read_status(root)
        jsonschema.validate(status, _STATUS)
    except (notebooks.NotebookError, jsonschema.ValidationError) as error:
        return [f"book/status.json: {getattr(error, 'message', error)}"]
    noted = status["notebooks"]
    found = [
        f"book/status.json knows {name}, which does not exist"
        for name in sorted(set(noted) - names)
    ]
    if path.read_text(encoding="utf-8") != json.dumps(status, indent=1) + "\n":
        found.append("book/status.json is not as refresh writes it: make refresh")
    # Texts, as dates so written have the order of time; somewhere it is tomorrow.
    if status["date"] > str(datetime.date.today() + datetime.timedelta(days=1)):
        found.append(f"book/status.json: {status['date']} is to come")
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    for name in notebooks.VERSIONED:
        pin = f"{name}=={status['versions'][name]}"
        if f"\n{pin} " not in f"\n{lock}":
            found.append(f"book/status.json: {pin} is not the lock's")
    for chapter in sorted({name.split("/")[0] for name in noted}):
        times = [noted[n]["cpu_seconds"] for n in noted if n.startswith(f"{chapter}/")]
        if sum(times) > BUDGET_CHAPTER:
            spent = f"{sum(times):g} CPU seconds, over {BUDGET_CHAPTER:g}"
            found.append(f"chapter {chapter}: {spent}")
    return found
