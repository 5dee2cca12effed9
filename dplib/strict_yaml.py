"""YAML files that readers write: read strictly, refused in one sentence.

YAML 1.1 reads some texts as something else than they look like, keeps the last of two
equal keys, and lets a short file stand for a huge one. Here a key that is given twice,
a number that is not written as a plain decimal, and the merging of fields are errors,
and what is shown of bad input fits on a line.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

__all__ = ["load", "plain", "shown"]


class _RefusedError(ValueError):
    """What the file holds is refused; the message says where and why."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, without what means something else than it looks like.

    A key given twice is an error, and so is a number that YAML 1.1 does not read as
    decimal: 010 would be 8, 1:30 would be 90.
    """


def _number(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    text = node.value
    if not re.fullmatch(
        r"[-+]?(\d|[1-9]\d*|\d*\.\d*(e[-+]?\d+)?|\.(inf|nan))", text, re.I
    ):
        at = f"line {node.start_mark.line + 1}"
        raise _RefusedError(f"{at}: {text[:40]!r} must be written as a plain decimal.")
    if node.tag.endswith("float"):
        return float(loader.construct_yaml_float(node))
    return int(loader.construct_yaml_int(node))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    at = f"line {node.start_mark.line + 1}"
    if not isinstance(node, yaml.MappingNode):  # tagged as what it is not
        raise _RefusedError(f"{at}: fields must be written as 'name: value'.")
    for key_node, _ in node.value:
        at = f"line {key_node.start_mark.line + 1}"
        if key_node.tag == "tag:yaml.org,2002:merge":
            raise _RefusedError(f"{at}: '<<' is not read; write the fields out.")
        key = loader.construct_object(key_node)
        if not isinstance(key, Hashable):
            raise _RefusedError(f"{at}: a field's name must be a word.")
        if key in seen:
            raise _RefusedError(f"{at}: the field {key!r} is given twice.")
        seen.add(key)
    return loader.construct_mapping(node)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _number)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)


def shown(value: object) -> str:
    """Return at most 80 characters of what was found, on one line.

    Examples
    --------
    >>> shown([1, 2]), len(shown(["word"] * 1000)) <= 80
    ('[1, 2]', True)
    """
    # Lists cut while they are written: aliases can make them of any size.
    cut = reprlib.Repr()
    cut.maxlevel, cut.maxstring, cut.maxother = 3, 80, 80
    return plain(cut.repr(value), 80)


def plain(text: str, most: int) -> str:
    r"""Return a text on one line, cut, and free of letters that do something.

    Examples
    --------
    >>> plain("a\nb\x1b[31m", 80)
    'a b?[31m'
    """
    line = " ".join(text[: 2 * most].split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    return line if len(line) <= most else line[: most - 3] + "..."


def load(path: Path, error: type[ValueError]) -> Any:
    """Return what a YAML file holds, or say in one sentence why it cannot be read.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    error : type
        What to raise; its message begins with the name of the file.

    Returns
    -------
    object
        Mappings, lists, texts and numbers.

    Raises
    ------
    error
        If there is no such file, it cannot be read, it is not YAML, or it holds
        something that this reader refuses.

    Examples
    --------
    >>> load(Path("nowhere.yml"), ValueError)
    Traceback (most recent call last):
    ...
    ValueError: nowhere.yml: there is no such file.
    """
    file = path.name or str(path)
    try:
        if path.is_file():
            return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as found:
        raise error(f"{file[:80]}: cannot be read: {found.strerror}.") from None
    except UnicodeDecodeError as found:
        reason = f"Got byte {found.object[found.start]:#04x} at {found.start}"
        raise error(f"{file}: must be text in UTF-8. {reason}.") from None
    except RecursionError:
        raise error(f"{file}: not YAML: nested too deeply.") from None
    except _RefusedError as found:
        raise error(f"{file}: {found}") from None
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError) as found:
        # Values that do not fit their tags, a date that no calendar has.
        reason = " ".join(str(found).split()).rstrip(".")
        raise error(f"{file}: not YAML: {reason}.") from None
    if path.is_dir():
        raise error(f"{file}: must be a file. Got a folder.")
    raise error(f"{file}: there is no such file.")
