"""What a reader sees of a notebook's page, measured in the built book.

At 1280 by 900 pixels, with all folds closed: the share of the page that the audit
takes (verdict lines, tables of claims, and folds), where the first figure ends, how
many lines a verdict takes; and from the notebook how much code is visible.

    python tests/book/page_measures.py [CHAPTER/NN_topic ...]    after `make book`
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from devtools import Browser, find_chromium
from guards import lines, stored, visible

from dplib.book import notebooks

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT = 1280, 900

# What belongs to the audit, or is a fold: the outermost of these.
_AUDIT = (
    "details, .admonition.dropdown, .admonition.change-it, .cell_output .claim-table"
)
_SCRIPT = f"""(() => {{
  const article = document.querySelector("article");
  const height = (element) => element.getBoundingClientRect().height;
  const audit = [...article.querySelectorAll("{_AUDIT}")]
    .filter((element) => !element.parentElement.closest("{_AUDIT}"));
  const line = (verdict) =>
    Math.round(height(verdict) / parseFloat(getComputedStyle(verdict).lineHeight));
  const lines = [...article.querySelectorAll("details.claim > summary")]
    .filter((verdict) => verdict.checkVisibility())
    .map(line);
  const figure = article.querySelector("figure img");
  return {{
    height: height(article),
    audit: audit.reduce((sum, element) => sum + height(element), 0),
    lines: Math.max(0, ...lines),
    figure: figure ? figure.getBoundingClientRect().bottom + scrollY : null,
  }};
}})()"""


@dataclass(frozen=True)
class Measures:
    """What a reader sees of one page."""

    height: float  # of the text, pixels
    audit: float  # share of it
    figure: float | None  # end of the first figure, screens
    line: int  # lines of the longest verdict
    visible: int  # lines of code
    largest: int  # lines of the largest visible cell


def measure(browser: Browser, source: Path) -> Measures:
    """Measure the page of one notebook."""
    page = ROOT / "_build" / "html" / "notebooks" / f"{notebooks.name_of(source)}.html"
    browser.resize(WIDTH, HEIGHT)
    browser.open(page.as_uri())
    found = browser.evaluate(_SCRIPT)
    seen = [lines(cell) for cell in visible(stored(source))]
    return Measures(
        height=found["height"],
        audit=found["audit"] / found["height"],
        figure=None if found["figure"] is None else found["figure"] / HEIGHT,
        line=found["lines"],
        visible=sum(seen),
        largest=max(seen, default=0),
    )


def main() -> None:
    """Print the measures of some pages, or of all."""
    binary = find_chromium()
    if binary is None:
        sys.exit("No chromium, chromium-browser, google-chrome or chrome on the PATH.")
    wanted = sys.argv[1:]
    print(
        f"{'page':28}{'px':>7}{'audit':>7}{'figure':>8}{'line':>6}{'code':>6}{'cell':>6}"
    )
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        Browser(binary, Path(profile)) as browser,
    ):
        for source in notebooks.find(ROOT):
            name = notebooks.name_of(source)
            if wanted and name not in wanted:
                continue
            one = measure(browser, source)
            figure = "-" if one.figure is None else f"{one.figure:.1f}"
            print(
                f"{name:28}{one.height:7.0f}{one.audit:7.0%}{figure:>8}{one.line:6}"
                f"{one.visible:6}{one.largest:6}"
            )


if __name__ == "__main__":
    main()
