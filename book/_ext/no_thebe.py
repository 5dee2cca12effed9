"""Keep sphinx-thebe out of the pages.

Jupyter Book always loads sphinx-thebe, which writes the address of a remote
script into every page and offers no option to leave it out. The book runs no
code in the browser and opens without a network, so its listeners are taken off,
and the style sheet that they would have copied is no longer asked for.
"""

from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Arrange for the listeners to go once all extensions are loaded."""
    app.connect("config-inited", _disconnect, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _disconnect(app: Sphinx, config: Any) -> None:
    for name, listeners in app.events.listeners.items():
        app.events.listeners[name] = [
            item
            for item in listeners
            if not getattr(item.handler, "__module__", "").startswith("sphinx_thebe")
        ]
    app.registry.css_files[:] = [
        item for item in app.registry.css_files if "thebe" not in str(item[0])
    ]
