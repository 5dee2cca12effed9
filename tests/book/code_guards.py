"""What the code of a notebook must not do, read off its syntax: nothing is executed.

`randomness` keeps chance, clocks and other programs out: what a notebook computes is
the same tomorrow. `checks` finds checks that no result could fail. Both see what slips
in; whoever wants to cheat finds a way, and a reader must find him.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import nbformat
import numpy as np
from scipy import cluster, optimize, sparse, stats

#: What a notebook may import. Neither clock nor network, no other program, no system.
IMPORTS = {
    *("collections", "csv", "dataclasses", "fractions", "functools", "itertools"),
    *("math", "pathlib", "tempfile", "numpy", "scipy", "matplotlib", "seaborn"),
    *("jax", "optax"),
    *("cvxpy", "dplib"),
}
# Makers of generators, and services that write verdicts.
_RESERVED = (
    "numpy.random",
    "dplib.rng.stream",
    "dplib.book.ledger",
    "dplib.book.verdicts",
)
# Ways to reach, make or write what the guards do not see.
_CALLS = {
    *("default_rng", "RandomState", "datetime64", "hash", "id", "input"),
    *("getattr", "setattr", "vars", "globals", "locals", "eval", "exec", "compile"),
    *("__import__", "display", "get_ipython"),
    *("write_text", "write_bytes", "savefig", "savetxt", "tofile"),
}
_SEEDS = ("rng", "seed", "random_state")


def _makers() -> set[str]:
    """Return the functions of scipy that take a generator, and else make their own."""
    found = set()
    for module in (stats, stats.qmc, optimize, cluster.vq, sparse.linalg):
        for name in set(dir(module)) - set(dir(np.random.Generator)):
            try:
                given = inspect.signature(getattr(module, name)).parameters
            except (TypeError, ValueError):  # no function, or one without signature
                continue
            if any(seed in given and given[seed].default is None for seed in _SEEDS):
                found.add(name)
    return found | {"rvs", "resample"}


CHANCE = _makers()


def trees(source: Path, without: str = "") -> Iterator[ast.Module]:
    """Yield the syntax of a pair's code cells, but of those with a tag.

    The guard `magics` reports cells that have none.
    """
    for cell in nbformat.read(source.with_suffix(".ipynb"), as_version=4).cells:
        if cell.cell_type == "code" and without not in cell.metadata.get("tags", ()):
            try:
                yield ast.parse(cell.source)
            except SyntaxError:
                continue


def _name(function: ast.expr) -> str:
    return str(getattr(function, "id", getattr(function, "attr", "")))


# -- chance, clocks, files -----------------------------------------------------


def randomness(source: Path) -> list[str]:
    """Every random number comes from `dplib.rng.stream`, seeded by a parameter."""
    return [text for tree in trees(source) for text in chance(tree)]


def chance(tree: ast.Module) -> list[str]:
    """Return what a cell has of chance, clocks and other programs."""
    problems, nodes = [], list(ast.walk(tree))
    # `generator.random()` is a draw; `np.random`, not called, is the module.
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            where = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                problems += _import(where + alias.name, alias)
        elif isinstance(node, ast.Attribute) and id(node) not in called:
            if node.attr in ("random", "rvs"):
                problems.append(f"{node.attr}, handed on: use dplib.rng.stream")
        elif isinstance(node, ast.Call):
            problems += _call(node)
    return problems


def _import(name: str, alias: ast.alias) -> list[str]:
    if name.split(".")[0] not in IMPORTS:
        return [f"imports {name}, which is not among what a notebook may use"]
    if name.startswith(_RESERVED) or alias.name == "*":
        return [f"imports {name}: use dplib.rng.stream, dplib.book.claims, and names"]
    if alias.asname and (name == "dplib.book.claims" or alias.name in CHANCE):
        return [f"imports {name} under another name, which the guards do not know"]
    return []


def _call(node: ast.Call) -> list[str]:
    name = _name(node.func)
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if name in _CALLS:
        return [f"{name}: not in a notebook"]
    if name == "open" and (len(node.args) > 1 or "mode" in given):
        return ["open: a notebook only reads"]
    seeds = [given[seed] for seed in _SEEDS if seed in given]
    if name in CHANCE and (not seeds or isinstance(seeds[0], ast.Constant)):
        return [f"{name} draws random numbers of its own: give it rng.stream's"]
    if name == "stream":
        seed = node.args[0] if node.args else given.get("seed")
        parts = [] if seed is None else list(ast.walk(seed))
        functions = [part.func for part in parts if isinstance(part, ast.Call)]
        if not any(isinstance(p, ast.Name) and p not in functions for p in parts):
            return ["a seed that is no parameter: rng.stream(seed, ...)"]
    return []


# -- checks that can fail ------------------------------------------------------

#: The largest relative error that an equation may have.
WITHIN = 1.0e-6
# Arguments of a check that decide.
_DECIDE = {"value", "values", "margin", "margins", "gap", "repaired", "choices"}
_DECIDE |= {"trivial", "replicates"}
# Functions that leave a number what it was: something typed.
_PLAIN = {"abs", "min", "max", "sum", "float", "int", "round", "array", "float64"}
_PLAIN |= {"Fraction", "Interval"}
_MODULES = {"np", "math"}
# Functions that make nearly every number a margin, or a gap, that passes.
_EASY = {
    "margin": {"abs", "max"},
    "margins": {"abs", "max"},
    "gap": {"min"},
}
# What a notebook may ask of the checks.
_SERVICES = {
    "book": ("check_", "one_table", "table"),
    "claims": ("open_notebook", "printed"),
}


def checks(source: Path) -> list[str]:
    """No check decides on a literal, on the print itself, or on x - x."""
    cells = trees(source, without="parameters")
    return unfailing(ast.Module([line for tree in cells for line in tree.body], []))


def unfailing(tree: ast.Module) -> list[str]:
    """Return what code has of checks that cannot fail, or of tampering with them."""
    problems = []
    nodes = list(ast.walk(tree))
    of = {id(n.value): n.attr for n in nodes if isinstance(n, ast.Attribute)}
    opened = [
        target
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and _name(node.value.func) == "open_notebook"
        for target in node.targets
    ]
    if any(ast.unparse(target) != "book" for target in opened):
        problems.append("the checks of a notebook are called 'book'")
    known = _literals(nodes)
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in _SERVICES:
            asked = of.get(id(node))
            mine = (
                node in opened
                if asked is None
                else asked.startswith(_SERVICES[node.id])
            )
            if not mine:
                problems.append(f"{node.id}: only its checks, under its own name")
        elif isinstance(node, ast.Attribute):
            if node.attr.startswith("_") and node.attr != "__name__":
                problems.append(f"{node.attr}: what begins with _ is not for pages")
            if not isinstance(node.ctx, ast.Load):
                problems.append(f"assigns to an attribute: {ast.unparse(node)}")
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
            problems.append(f"{node.name}: what begins with _ is not for pages")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div):
            same = ast.dump(node.left) == ast.dump(node.right)
            if same and not isinstance(node.left, ast.Constant):
                problems.append(f"compares with itself: {ast.unparse(node)}")
        elif isinstance(node, ast.Call) and _name(node.func).startswith("check_"):
            problems += _check(node, known)
    return problems


def _literals(nodes: list[ast.AST]) -> dict[str, ast.expr]:
    """Return the names that are bound once, and to what: no list that may grow."""
    bound = [
        node.arg if isinstance(node, ast.arg) else node.id
        for node in nodes
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    ]
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for node in nodes:
        if isinstance(node, ast.Assign):
            pairs += [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs.append((node.target, node.value))
    known: dict[str, ast.expr] = {}
    for target, value in pairs:
        if isinstance(target, ast.Tuple | ast.List):
            each = [value] * len(target.elts)
            if isinstance(value, ast.Tuple) and len(value.elts) == len(each):
                each = value.elts
            pairs += zip(target.elts, each, strict=True)  # taken up by this loop
        elif isinstance(target, ast.Name) and bound.count(target.id) == 1:
            known[target.id] = value
    filled = ast.List | ast.Dict | ast.Set
    return {name: to for name, to in known.items() if not isinstance(to, filled)}


def _less(known: dict[str, ast.expr], name: str) -> dict[str, ast.expr]:
    return {other: value for other, value in known.items() if other != name}


def _check(node: ast.Call, known: dict[str, ast.expr]) -> list[str]:
    """Return what is wrong with the arguments of one check."""
    claim = ast.unparse(node.args[0]) if node.args else "?"
    values = [*node.args[1:], *(k.value for k in node.keywords if k.arg in _DECIDE)]
    parts: list[ast.expr] = []
    for value in values:
        cases = isinstance(value, ast.Dict) and _name(node.func) != "check_order"
        parts += value.values if cases else [value]  # type: ignore[attr-defined]
    problems = [
        f"{claim}: decides on what is typed or printed: {ast.unparse(part)[:40]}"
        for part in parts
        if _typed(part, known, claim)
    ]
    problems += [
        f"{claim}: {k.arg}={name}(...) passes too easily"
        for k in node.keywords
        if k.arg in _EASY
        for part in (k.value.values if isinstance(k.value, ast.Dict) else [k.value])
        if (name := _outermost(part, known)) in _EASY[k.arg]
    ]
    problems += [
        f"{claim}: a default decides: {ast.unparse(part)[:40]}"
        for part in parts
        for inner in ast.walk(part)
        if isinstance(inner, ast.keyword) and inner.arg == "default"
    ]
    problems += [
        f"{claim}: within={ast.unparse(k.value)} is not at most {WITHIN:g}, or that "
        "times a scale"
        for k in node.keywords
        if k.arg == "within" and not _tight(k.value, known)
    ]
    return problems


def _typed(node: ast.expr, known: dict[str, ast.expr], claim: str) -> bool:
    """Whether an expression holds nothing but literals and the claim's own print."""
    if isinstance(node, ast.Name):
        return node.id in known and _typed(known[node.id], _less(known, node.id), claim)
    if isinstance(node, ast.Call):
        if _name(node.func) == "printed":
            return ast.unparse(node.args[0]) == claim
        if _name(node.func) not in _PLAIN:
            return False
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        owner = getattr(node.func, "value", None)  # of a method
        if owner is not None and getattr(owner, "id", "") not in _MODULES:
            parts.append(owner)
    elif isinstance(node, ast.DictComp):
        parts = [node.value]
    elif isinstance(node, ast.ListComp | ast.GeneratorExp):
        parts = [node.elt]
    else:
        children = ast.iter_child_nodes(node)
        parts = [part for part in children if isinstance(part, ast.expr)]
    return all(_typed(part, known, claim) for part in parts)


def _outermost(node: ast.expr, known: dict[str, ast.expr]) -> str:
    """Return the function that is called last, `float` and names apart, or ""."""
    if isinstance(node, ast.Name) and node.id in known:
        return _outermost(known[node.id], _less(known, node.id))
    if isinstance(node, ast.DictComp):
        return _outermost(node.value, known)
    if not isinstance(node, ast.Call):
        return ""
    if _name(node.func) == "float" and node.args:
        return _outermost(node.args[0], known)
    return _name(node.func)


def _tight(node: ast.expr, known: dict[str, ast.expr]) -> bool:
    """Whether a tolerance is a small number, or a product with one."""
    if isinstance(node, ast.Name):
        return node.id in known and _tight(known[node.id], _less(known, node.id))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _tight(node.left, known) or _tight(node.right, known)
    return isinstance(node, ast.Constant) and node.value <= WITHIN
