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
    "lazy.py": "from pack import a\n\n\ndef late(x):\n    return x + 1\n",  # a circle
    "alone.py": "VALUE = 3\n",
    "room.py": "hidden = 'by the package of that name'\n",
    "room/__init__.py": '"""A room."""\n',
    "room/door.py": (
        "from . import key\nfrom .key import turn\nfrom ..alone import VALUE\n"
    ),
    "room/key.py": "def turn():\n    return 1\n",
    "room/window.py": "GLASS = True\n",
    "house/__init__.py": "from .roof import RED\n",  # one dot is the package itself
    "house/roof.py": "RED = 1\n",
    "bare/inner.py": "1\n",  # a folder without __init__.py is passed through
    "../pack.py": "hidden = 'by the package of that name'\n",
}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "pack"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("import pack", "pack"),
        ("import packaging, pack_two.b", ""),
        ("from pack import alone", "pack pack.alone"),
        ("from pack.alone import VALUE", "pack pack.alone"),
        ("def f():\n    import pack.alone", "pack pack.alone"),
        ("from pack import nothing_there", "pack"),
        ("import pack.bare.inner", "pack pack.bare.inner"),
        ("import pack.house", "pack pack.house pack.house.roof"),
        # through a.py, and through an import inside a function of b.py
        ("from pack import a", "pack pack.a pack.b pack.lazy"),
        # relative imports of one and of two dots; window is not reached
        (
            "from pack.room.door import turn",
            "pack pack.alone pack.room pack.room.door pack.room.key",
        ),
        # Lines that only a notebook understands do nothing.
        ("%matplotlib inline\nfrom pack import alone", "pack pack.alone"),
        ("!ls -l 'x\nfrom pack import alone", "pack pack.alone"),
        ("if True:\n    %time 3 +\nfrom pack import alone", "pack pack.alone"),
        # A long expression is broken before its operator: that is no magic, and used
        # to be dropped, a closing bracket and all.
        ("x = ('of %d'\n    % 3)\nfrom pack import alone", "pack pack.alone"),
        ("x = (3\n    != 4)\nfrom pack import alone", "pack pack.alone"),
    ],
)
def test_reached(pack, source, wanted) -> None:
    assert list(code_key.reached(source, pack)) == wanted.split()


def test_the_files_are_those_of_the_modules(pack) -> None:
    assert code_key.reached("import pack.room.key", pack) == {
        "pack": pack / "__init__.py",
        "pack.room": pack / "room" / "__init__.py",
        "pack.room.key": pack / "room" / "key.py",
    }


# -- the key ------------------------------------------------------------------

SOURCE = "from pack import a\nfrom pack.room import door"


@pytest.mark.parametrize(
    ("name", "old", "new", "changes"),
    [
        ("a.py", "b.g(x)", "b.g(-x)", True),
        ("lazy.py", "x + 1", "x + 2", True),  # reached inside a function only
        ("lazy.py", "x + 1", "x + 1.0", True),
        ("room/key.py", "return 1", "return None", True),  # relative import
        ("alone.py", "3", "4", True),  # two dots
        ("alone.py", "VALUE = 3", "VALUE = 'x'  # no docstring", True),
        ("__init__.py", '"1"', '"2"', True),  # a package's own file
        ("room/__init__.py", '"""A room."""', "import os", True),
        ("__init__.py", "A library.", "The library.", False),  # module docstring
        ("lazy.py", "    return x + 1", '    """Add."""\n    return x + 1', False),
        ("lazy.py", "x + 1", "(x\n    + 1)  # one more", False),
        ("alone.py", "VALUE = 3", "\n\n# three\nVALUE = 0x3\n", False),
        ("room/window.py", "True", "False", False),  # not reached
    ],
)
def test_the_key_follows_the_code_that_is_reached(
    pack, name, old, new, changes
) -> None:
    before = code_key.code_key(SOURCE, pack)
    text = (pack / name).read_text(encoding="utf-8")
    assert old in text
    (pack / name).write_text(text.replace(old, new), encoding="utf-8")
    assert (code_key.code_key(SOURCE, pack) != before) == changes


@pytest.mark.parametrize(
    "code",
    [
        "{}\nx = 1\n",
        "class A:\n    {}\n    x = 1\n",
        "class A:\n    def f(self):\n        {}\n        return 1\n",
        # A docstring of an `async def` used to count as code.
        "async def f():\n    {}\n    return 1\n",
        "def f():\n    {}\n",
    ],
)
def test_every_kind_of_docstring_is_left_out(code) -> None:
    words = ('"""One."""', '"""Two,\n\n    in more words.\n    """')
    assert len({code_key.source_key(code.format(text)) for text in words}) == 1


def test_the_source_itself_is_not_in_the_key_but_the_names_are(pack) -> None:
    first = code_key.code_key("from pack import alone", pack)
    assert first == code_key.code_key("import pack.alone  # z = 1", pack)
    (pack / "other.py").write_text(FILES["alone.py"])
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
