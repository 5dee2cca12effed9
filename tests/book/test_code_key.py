"""The key follows what the reached code does, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dplib.book import code_key

FILES = {
    "__init__.py": '"""A library."""\n\n__version__ = "1"\n',
    "a.py": "from pack import b\n\n\ndef f(x):\n    return b.g(x)\n",
    "b.py": "def g(x):\n    from pack.lazy import late\n\n    return late(x)\n",
    "lazy.py": "def late(x):\n    return x + 1\n",
    "alone.py": "VALUE = 3\n",
    "room/__init__.py": '"""A room."""\n',
    "room/door.py": (
        "from . import key\nfrom .key import turn\nfrom ..alone import VALUE\n"
    ),
    "room/key.py": "def turn():\n    return 1\n",
    "room/window.py": "GLASS = True\n",
}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "pack"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def names(source: str, pack: Path) -> list[str]:
    return list(code_key.reached(source, pack))


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("import numpy", []),
        ("import pack", ["pack"]),
        ("import packaging, pack_two.b", []),
        ("from pack import alone", ["pack", "pack.alone"]),
        ("from pack.alone import VALUE", ["pack", "pack.alone"]),
        ("import pack.alone as z", ["pack", "pack.alone"]),
        # through a.py, and through an import inside a function of b.py
        ("from pack import a", ["pack", "pack.a", "pack.b", "pack.lazy"]),
        # relative imports of one and of two dots; window is not reached
        (
            "from pack.room.door import turn",
            ["pack", "pack.alone", "pack.room", "pack.room.door", "pack.room.key"],
        ),
        ("def f():\n    import pack.alone", ["pack", "pack.alone"]),
        ("if False:\n    from pack import alone", ["pack", "pack.alone"]),
        ("from pack import nothing_there", ["pack"]),
    ],
)
def test_reached(pack, source, wanted) -> None:
    assert names(source, pack) == wanted


def test_the_files_are_those_of_the_modules(pack) -> None:
    found = code_key.reached("import pack.room.key", pack)
    assert found == {
        "pack": pack / "__init__.py",
        "pack.room": pack / "room" / "__init__.py",
        "pack.room.key": pack / "room" / "key.py",
    }


def test_what_a_package_imports_is_reached(pack) -> None:
    # `from .window import` in room/__init__.py: one dot is the package itself.
    (pack / "room" / "__init__.py").write_text("from .window import GLASS\n")
    assert "pack.room.window" in names("import pack.room.key", pack)


def test_modules_that_import_each_other_end(pack) -> None:
    (pack / "lazy.py").write_text("from pack import a\n")
    assert names("import pack.a", pack) == ["pack", "pack.a", "pack.b", "pack.lazy"]


def test_a_package_hides_a_module_of_its_name(pack) -> None:
    # Python takes room/__init__.py; the module room.py used to be found first,
    # and a file pack.py beside the library in the place of the library.
    (pack / "room.py").write_text("1\n")
    (pack.parent / "pack.py").write_text("1\n")
    found = code_key.reached("import pack.room", pack)
    assert found["pack"] == pack / "__init__.py"
    assert found["pack.room"] == pack / "room" / "__init__.py"


def test_a_folder_without_init_is_passed_through(pack) -> None:
    (pack / "bare").mkdir()
    (pack / "bare" / "inner.py").write_text("1\n")
    assert names("import pack.bare.inner", pack) == ["pack", "pack.bare.inner"]


# -- magics -------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline\nfrom pack import alone",
        "%%time\nfrom pack import alone",
        "!ls -l 'x\nfrom pack import alone",
        "if True:\n    %time 3 +\nfrom pack import alone",
        "  \nfrom pack import alone\n\n",
    ],
)
def test_magics_do_nothing(pack, source) -> None:
    assert names(source, pack) == ["pack", "pack.alone"]


@pytest.mark.parametrize(
    "source",
    [
        "text = ('of %d'\n    % 3)\nfrom pack import alone",
        "text = (\n    'of %d'\n    % 3\n)\nfrom pack import alone",
        "odd = (3\n    != 4)\nfrom pack import alone",
    ],
)
def test_an_operator_at_the_start_of_a_line_is_no_magic(pack, source) -> None:
    # A long expression is broken before its operator. The line used to be
    # dropped, a closing bracket and all, and the source was no Python any more.
    assert names(source, pack) == ["pack", "pack.alone"]


def test_what_is_not_python_is_a_syntax_error(pack) -> None:
    with pytest.raises(SyntaxError):
        code_key.reached("from pack import", pack)


# -- the key ------------------------------------------------------------------

SOURCE = "from pack import a\nfrom pack.room import door"


def test_the_key_is_64_digits_and_the_same_twice(pack) -> None:
    key = code_key.code_key(SOURCE, pack)
    assert len(key) == 64
    assert set(key) <= set("0123456789abcdef")
    assert code_key.code_key(SOURCE, pack) == key


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("a.py", "b.g(x)", "b.g(-x)"),
        ("b.py", "late(x)", "late(x, x)"),
        ("lazy.py", "x + 1", "x + 2"),  # reached inside a function only
        ("lazy.py", "x + 1", "x + True"),
        ("lazy.py", "x + 1", "x + 1.0"),
        ("lazy.py", "x + 1", "'x + 1'"),
        ("room/key.py", "return 1", "return None"),  # relative import
        ("room/key.py", "return 1", "return"),
        ("alone.py", "3", "4"),  # two dots
        ("__init__.py", '"1"', '"2"'),  # a package's own file
        ("room/__init__.py", '"""A room."""', "import os"),
    ],
)
def test_code_that_is_reached_changes_the_key(pack, name, old, new) -> None:
    before = code_key.code_key(SOURCE, pack)
    rewrite(pack / name, old, new)
    assert code_key.code_key(SOURCE, pack) != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("__init__.py", "A library.", "The library."),  # module docstring
        ("lazy.py", "    return x + 1", '    """Add."""\n    return x + 1'),
        ("lazy.py", "x + 1", "(x\n    + 1)  # one more"),
        ("alone.py", "VALUE = 3", "\n\n# three\nVALUE = 3\n"),
        ("alone.py", "3", "0x3"),
        ("room/window.py", "True", "False"),  # not reached
    ],
)
def test_words_layout_and_other_modules_do_not(pack, name, old, new) -> None:
    before = code_key.code_key(SOURCE, pack)
    rewrite(pack / name, old, new)
    assert code_key.code_key(SOURCE, pack) == before


@pytest.mark.parametrize(
    "code",
    [
        "class A:\n    {}\n    x = 1\n",
        "class A:\n    def f(self):\n        {}\n        return 1\n",
        # A docstring of an `async def` used to count as code.
        "async def f():\n    {}\n    return 1\n",
        "def f():\n    {}\n",
    ],
)
def test_every_kind_of_docstring_is_left_out(pack, code) -> None:
    keys = set()
    for words in ('"""One."""', '"""Two,\n\n    in more words.\n    """'):
        (pack / "alone.py").write_text(code.format(words))
        keys.add(code_key.code_key("import pack.alone", pack))
    assert len(keys) == 1


def test_a_text_that_is_no_docstring_counts(pack) -> None:
    keys = set()
    for words in ("'one'", "'two'"):
        (pack / "alone.py").write_text(f"def f():\n    x = {words}\n    return x\n")
        keys.add(code_key.code_key("import pack.alone", pack))
    assert len(keys) == 2


def test_the_source_itself_is_not_in_the_key(pack) -> None:
    first = code_key.code_key("from pack import alone", pack)
    assert first == code_key.code_key("import pack.alone  # z = 1", pack)


def test_a_moved_module_has_another_key(pack) -> None:
    (pack / "other.py").write_text(FILES["alone.py"])
    first = code_key.code_key("import pack.alone", pack)
    assert first != code_key.code_key("import pack.other", pack)


def test_the_key_is_the_same_on_every_python(pack) -> None:
    # Known from 3.11, 3.12 and 3.13, where `ast.dump` gives three texts: 3.12
    # added `type_params=[]` and 3.13 leaves empty lists out. The key used to be
    # made of them, so that a result stored on one was stale on the others.
    (pack / "alone.py").write_text(
        "class A(object):\n"
        "    def f(self, *args, k=None, **kw) -> int:\n"
        "        return f'{k!r:>{3}}' if args else lambda: [*args, ..., 1j, b'x']\n"
        "\n"
        "    async def g(self):\n"
        "        match self:\n"
        "            case A(f=[1, *rest]) if rest:\n"
        "                pass\n"
    )
    assert code_key.code_key("import pack.alone", pack) == (
        "e31e408efa2d717daf35855483a7637c96a2036c6d8e64e1670f50a73ff7c79b"
    )


def test_the_text_of_a_tree_tells_trees_apart() -> None:
    # Empty fields are left out, so try what could be confused by that.
    sources = [
        *("f()", "f(x)", "f(*x)", "f(x=1)", "f(**x)", "f(x, 1)", "f('x')"),
        *("x", "x: int", "x: int = None", "x = None", "None", "del x", "'x'"),
        *("[]", "[[]]", "()", "{}", "[None]", "lambda: 0", "lambda x: 0"),
        *("lambda x=0: 0", "lambda *, x: 0", "lambda *, x=0: 0", "lambda x, /: 0"),
        *("x[:]", "x[1:]", "x[:1]", "x[::1]", "import a", "import a as b"),
        *("from . import a", "from .. import a", "from .a import a"),
        *("1", "1.0", "True", "1j", "b'1'", "'1'", "...", "-1", "{None: 1, **x}"),
        *("return_ = 1", "def f(): return", "def f(): return None", "def f(): 0"),
        *("try: 0\nfinally: 1", "try: 0\nexcept: 1", "try: 0\nexcept E: 1"),
        *("if x: 0", "if x: 0\nelse: 1", "while x: 0", "raise", "raise x"),
        *("raise x from y", "assert x", "assert x, y", "f'{x}'", "f'{x!r}'", "u'x'"),
    ]
    texts = [code_key._dump(ast.parse(source)) for source in sources]
    assert len(set(texts)) == len(sources)
