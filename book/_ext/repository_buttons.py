"""Repository, issue and launch buttons, all from one configuration value.

``repository: url`` in ``_config.yml`` is the only place that holds the address
of the repository, as a browser shows it or as git clones it. While it is empty, or
names a forge for which the theme makes no right links, the buttons are off.
"""

import re
from typing import Any

from sphinx.application import Sphinx

BUTTONS = ("use_repository_button", "use_issues_button")

_ADDRESS = re.compile(
    r"(?:https?://|ssh://)?(?:[\w.-]+@)?(?:www\.)?(?P<host>github\.com|gitlab\.com)"
    r"[:/](?P<path>[\w.-]+(?:/[\w.-]+?)+)(?:\.git)?/*"
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Set the theme's options as soon as the configuration is read."""
    app.connect("config-inited", choose, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def choose(app: Sphinx, config: Any) -> None:
    """Switch every button on or off by the address of the repository."""
    options = config.html_theme_options
    found = _ADDRESS.fullmatch(options.get("repository_url", "").strip())
    known = found is not None
    options["repository_url"] = (
        found.expand(r"https://\g<host>/\g<path>") if found else ""
    )
    for name in BUTTONS:
        options[name] = known
    options["use_edit_page_button"] = False  # a notebook is edited in its .md pair
    options["launch_buttons"] = (
        {"binderhub_url": "https://mybinder.org", "notebook_interface": "jupyterlab"}
        if known
        else {}
    )
