"""A book of one small notebook, for tests that break it on purpose."""

from pathlib import Path

LEDGER = """\
paper: {key: nobody2020, title: A tiny paper, authors: N. Body}
claims:
- id: truthful.half
  where: Theorem 1
  kind: number
  level: headline
  says: one half
  printed: "0.50"
  at: {n: 2}
  verdict: reproduced
  evidence: exact
  notebook: truthful/01_tiny
- id: truthful.later
  where: Theorem 2
  kind: theorem
  level: headline
  says: something that nobody has tried
  verdict: open
  notebook: null
"""

TOC = """\
format: jb-book
root: book/intro
chapters:
- file: notebooks/truthful/01_tiny.ipynb
"""

HEADER = """\
---
jupytext:
  formats: ipynb,md:myst
  notebook_metadata_filter: -jupytext.text_representation.jupytext_version
  text_representation:
    extension: .md
    format_name: myst
    format_version: 0.13
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
"""

NOTEBOOK = (
    HEADER
    + """
# A tiny notebook

```{code-cell} ipython3
:tags: [parameters, hide-input]

n = 2  # how many, integer from 1 on
seed = 7  # root seed, integer from 0 on
```

```{code-cell} ipython3
---
mystnb:
  code_prompt_show: Imports
tags: [hide-input]
---
import matplotlib.pyplot as plt

from dplib import rng
from dplib.book import claims, figures

figures.use_style()
random = rng.stream(seed, "tiny")
book = claims.open_notebook("truthful/01_tiny", n=n)
```

```{code-cell} ipython3
draws = random.normal(size=4)
print(f"largest draw {draws.max():.3f}")
```

```{code-cell} ipython3
---
mystnb:
  figure:
    caption: Four draws.
    name: fig-tiny
  image:
    alt: A line with four points.
tags: [hide-input]
---
fig, ax = plt.subplots(figsize=(2, 1))
ax.plot(draws)
figures.show(fig)
```

```{code-cell} ipython3
book.check_value("truthful.half", 1 / n)
```

```{exercise} Compute: another half
:label: tiny-half

How much is a half of a half?
```

```{solution-start} tiny-half
:label: tiny-half-solution
:class: dropdown
```

```{code-cell} ipython3
print(1 / (n + n))
```

```{solution-end}
```

```{code-cell} ipython3
book.table()
```
"""
)


def write(root: Path, text: str = NOTEBOOK) -> Path:
    """Write the sources of the tiny book (no outputs); return its notebook."""
    for folder in ("book/claims", "notebooks/truthful"):
        (root / folder).mkdir(parents=True)
    (root / "book" / "claims" / "truthful.yml").write_text(LEDGER, encoding="utf-8")
    (root / "_toc.yml").write_text(TOC, encoding="utf-8")
    source = root / "notebooks" / "truthful" / "01_tiny.md"
    source.write_text(text, encoding="utf-8")
    return source
