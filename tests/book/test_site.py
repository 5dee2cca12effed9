"""The built book: complete, without a network, readable by everybody.

Reads ``_build/html``, which `make book` writes, and opens it from disk in headless
Chromium. In CI both must be there; elsewhere the tests are skipped without them.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from devtools import Browser, find_chromium
from guards import machine_paths
from page_measures import measure

from dplib.book import notebooks
from dplib.book.claims import MIME_TYPE
from dplib.book.ledger import TELLS, Claim, load_all

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
PHONE = 390
DESK = 1300
LABELS = ("aria-label", "aria-labelledby")

pytestmark = pytest.mark.site


def missing(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    if not (SITE / "index.html").is_file():
        missing("build the book first: make book")


def claims() -> list[Claim]:
    return [one for book in load_all(ROOT).values() for one in book.claims.values()]


# -- the pages as files ------------------------------------------------------------


@dataclass
class Page(HTMLParser):
    """What the tests ask of one HTML file."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)  # scripts and styles

    def __post_init__(self) -> None:
        super().__init__()
        self._raw = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = {name: value or "" for name, value in attrs}
        self.tags.append((tag, facts))
        self._raw = tag in ("script", "style")
        self.ids += [facts[name] for name in ("id", "name") if name in facts]

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._raw = False

    def handle_data(self, data: str) -> None:
        if self._raw:
            self.inline.append(data)


@cache
def parsed(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


@cache
def pages() -> tuple[Path, ...]:
    """Return all pages; those in ``_static`` are templates of the theme."""
    found = sorted(SITE.rglob("*.html"))
    return tuple(path for path in found if "_static" not in path.parts)


@cache
def toc() -> tuple[str, ...]:
    """Return the files that ``_toc.yml`` names, without their extension."""
    text = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    found = re.findall(r"^[ -]*(?:file|root): (\S+?)(?:\.ipynb|\.md)?$", text, re.M)
    return tuple(found)


def name_of(path: Path) -> str:
    return str(path.relative_to(SITE))


def is_remote(address: str) -> bool:
    return bool(re.match(r"\s*([a-z]+:)?//", address, re.IGNORECASE))


def loaded(tag: str, facts: dict[str, str]) -> Iterator[str]:
    """Yield the addresses that a browser fetches by itself for a tag."""
    if tag == "link":
        wanted = {"stylesheet", "preload", "modulepreload", "prefetch", "icon"}
        if wanted & set(facts.get("rel", "").lower().split()):
            yield facts.get("href", "")
    elif tag != "a":
        yield from (facts[name] for name in ("src", "poster", "data") if name in facts)
        for part in facts.get("srcset", "").split(","):
            yield part.strip()
    yield from re.findall(r"url\(\s*['\"]?([^'\")]+)", facts.get("style", ""))


def fetched_by_css(text: str) -> list[str]:
    return re.findall(r"url\(\s*['\"]?([^'\")]+)", text) + re.findall(
        r"@import\s+['\"]([^'\"]+)", text
    )


def test_the_toc_has_every_page_and_every_page_is_built() -> None:
    written = [*(ROOT / "book").glob("*.md"), *(ROOT / "book" / "api").glob("*.md")]
    written += (ROOT / "notebooks").glob("*/index.md")
    written += (ROOT / "notebooks").glob("*/[0-9][0-9]_*.ipynb")
    names = [str(path.relative_to(ROOT).with_suffix("")) for path in written]
    assert sorted(names) == sorted(toc())
    for name in toc():
        assert (SITE / f"{name}.html").is_file(), f"{name}: not built"


def test_nothing_is_loaded_from_the_network() -> None:
    asked = [
        (path, address)
        for path in pages()
        for tag, facts in parsed(path).tags
        for address in loaded(tag, facts)
    ]
    for path in pages():
        for text in parsed(path).inline:
            scripts = re.findall(r"['\"]((?:https?:)?//[^'\"]+\.m?js)['\"]", text)
            asked += [(path, address) for address in scripts + fetched_by_css(text)]
    for path in SITE.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        asked += [(path, address) for address in fetched_by_css(text)]
    remote = [f"{name_of(path)}: {to}" for path, to in asked if is_remote(to)]
    assert not remote, "\n".join(remote)


@pytest.mark.parametrize(
    "markup",
    [
        '<script src="https://unpkg.com/x.js"></script>',
        '<script src="//unpkg.com/x.js"></script>',
        '<link rel="preload stylesheet" href="https://fonts.example/x.css">',
        '<img src="HTTP://example.org/x.png" alt="x">',
        "<div style=\"background: url('https://example.org/x.png')\"></div>",
    ],
)
def test_a_remote_address_would_be_seen(markup: str) -> None:
    page = Page()
    page.feed(markup)
    tag, facts = page.tags[0]
    assert any(is_remote(address) for address in loaded(tag, facts))
    assert is_remote(fetched_by_css('@import "https://example.org/x.css";')[0])


def test_every_picture_has_a_text() -> None:
    mute = [
        f"{name_of(path)}: {facts.get('src', tag)}"
        for path in pages()
        for tag, facts in parsed(path).tags
        if (tag == "img" and not facts.get("alt", "").strip())
        or (facts.get("role") == "img" and not any(map(facts.get, LABELS)))
    ]
    assert not mute, "\n".join(mute)


def test_every_page_of_the_toc_describes_itself() -> None:
    for name in toc():
        tags = parsed(SITE / f"{name}.html").tags
        found = [facts for _, facts in tags if facts.get("name") == "description"]
        assert len(found) == 1, name
        assert 20 < len(found[0]["content"]) <= 160, name


def test_what_notebooks_read_can_be_downloaded() -> None:
    for source in notebooks.find(ROOT):
        name = notebooks.name_of(source)
        text = source.read_text(encoding="utf-8")
        wanted = {p.name for p in source.parent.glob("*.yml") if f'"{p.name}"' in text}
        for table in source.parent.glob("results/*.csv"):
            if f'stored.load("{table.parent.parent.name}/{table.stem}")' in text:
                wanted.add(table.name)
        links = [
            facts["href"]
            for tag, facts in parsed(SITE / "notebooks" / f"{name}.html").tags
            if tag == "a" and "/_downloads/" in facts.get("href", "")
        ]
        assert {Path(link).name for link in links} == wanted, name


def test_every_change_it_says_how_its_command_is_given() -> None:
    boxes = [
        box
        for page in SITE.glob("notebooks/*/*.html")
        for box in page.read_text(encoding="utf-8").split('"change-it admonition"')[1:]
    ]
    assert len(boxes) > 10
    how = "book/reproduce.html#reproduce-change"
    assert all(how in box.split("</div>")[0] for box in boxes)


def test_every_internal_link_resolves_and_claims_have_one_place() -> None:
    broken = []
    for path in pages():
        ids = [name for name in parsed(path).ids if name.startswith("claim-")]
        assert len(set(ids)) == len(ids), path
        for tag, facts in parsed(path).tags:
            address = facts.get("href", "")
            if tag != "a" or not address or urlsplit(address).scheme or "//" in address:
                continue
            parts = urlsplit(address)
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            if not target.is_file() or (
                parts.fragment
                and target.suffix == ".html"
                and unquote(parts.fragment) not in parsed(target).ids
            ):
                broken.append(f"{name_of(path)}: {address}")
    assert not broken, "\n".join(broken)


def test_the_scoreboard_shows_every_claim() -> None:
    tags = parsed(SITE / "book" / "claims.html").tags
    rows = [facts["data-verdict"] for _, facts in tags if "data-verdict" in facts]
    assert sorted(rows) == sorted(claim.verdict for claim in claims())
    jumps = [facts for _, facts in tags if "#claim-" in facts.get("href", "")]
    leading = 10
    assert len(jumps) == sum(bool(claim.notebook) for claim in claims()) + leading


def test_the_errata_have_every_doubtful_claim() -> None:
    tags = parsed(SITE / "book" / "errata.html").tags
    rows = [facts["data-verdict"] for _, facts in tags if "data-verdict" in facts]
    doubtful = set(TELLS) - {"shown"}
    mine = [claim for claim in claims() if claim.verdict in doubtful]
    assert sorted(rows) == sorted(one.verdict for one in mine if not one.same_as)


def test_next_leads_from_the_front_page_into_a_chapter() -> None:
    def following(name: str) -> str:
        tags = parsed(SITE / f"{name}.html").tags
        (found,) = (f["href"] for _, f in tags if "right-next" in f.get("class", ""))
        path = (SITE / name).parent / unquote(urlsplit(found).path)
        return str(path.resolve().relative_to(SITE.resolve()).with_suffix(""))

    assert following("book/intro") == toc()[1]
    assert following("book/intro").startswith("notebooks/")


def test_every_wish_leads_to_a_description() -> None:
    text = (SITE / "book" / "api" / "index.html").read_text(encoding="utf-8")
    table = text.split("</table>")[0]
    assert table.count("<tr") - 1 == len(re.findall(r'href="\w+\.html#dplib\.', table))


@pytest.mark.parametrize("source", notebooks.find(ROOT), ids=notebooks.name_of)
def test_every_stored_figure_and_verdict_is_on_its_page(source):
    """A tag or an odd output could take one away in silence."""
    page = SITE / "notebooks" / f"{notebooks.name_of(source)}.html"
    html = page.read_text(encoding="utf-8")
    stored = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    outputs = [out for cell in stored.cells for out in cell.get("outputs", [])]
    bundles = [out.get("data", {}) for out in outputs]
    pictures = [
        (page.parent / unquote(facts["src"])).read_text(encoding="utf-8").strip()
        for tag, facts in parsed(page).tags
        if tag == "img" and facts.get("src", "").endswith(".svg")
    ]
    for data in bundles:
        if "image/svg+xml" in data:
            assert data["image/svg+xml"].strip() in pictures
    for data in bundles:
        if MIME_TYPE in data:
            assert f'id="claim-{data[MIME_TYPE]["id"]}"' in html


def test_no_path_of_a_machine_in_any_built_page() -> None:
    texts = [*pages(), SITE / "searchindex.js"]
    for folder, pattern in (("_sources", "*"), ("_images", "*.svg")):
        texts += [path for path in (SITE / folder).rglob(pattern) if path.is_file()]
    found = [
        f"{name_of(path)}: {text}"
        for path in texts
        for text in machine_paths(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


# -- the pages in a browser -----------------------------------------------------------


@pytest.fixture(scope="module")
def browser(_built: None) -> Iterator[Browser]:
    binary = find_chromium()
    if binary is None:
        missing("no chromium, chromium-browser, google-chrome or chrome on the PATH")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        Browser(binary, Path(profile)) as opened,
    ):
        yield opened


# Figures that are shown so small that type of 10 points is less than 11 pixels high.
SMALL = """async () => {
  const drawn = [...document.querySelectorAll("article .cell_output img")];
  for (const image of drawn) { image.loading = "eager"; await image.decode(); }
  return drawn.filter((image) => image.getBoundingClientRect().width
    < 0.825 * image.naturalWidth).map((image) => image.getAttribute("src"));
}"""


def visited() -> list[Path]:
    """Return the pages that a reader can choose, and one of each other kind."""
    names = [*toc(), "index", "genindex", "prf-prf", "search", "_modules/index"]
    names.append("_modules/dplib/check")
    return [
        SITE / f"{name}.html" for name in names if (SITE / f"{name}.html").is_file()
    ]


@pytest.mark.browser
def test_pages_open_from_disk_and_fit_a_phone(browser: Browser) -> None:
    problems = []
    browser.colours("light")
    browser.resize(PHONE)
    for path in visited():
        problems += [f"{name_of(path)}: {text}" for text in browser.open(path.as_uri())]
        problems += [
            f"{name_of(path)}: asks for {address}"
            for address in browser.requests()
            if not address.startswith(("file://", "data:", "blob:"))
        ]
        for width in (DESK, PHONE):
            browser.resize(width)
            wide = browser.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                problems.append(f"{name_of(path)}: {wide} wide on a screen of {width}")
        small = browser.evaluate(f"({SMALL})()")
        problems += [f"{name_of(path)}: {name} is shrunk" for name in small]
    assert not problems, "\n".join(problems)


@pytest.mark.browser
def test_a_figure_that_is_cut_on_a_phone_says_so(browser: Browser) -> None:
    hint = "getComputedStyle(figure.querySelector('figcaption'), '::before').content"
    hints = f"[...document.querySelectorAll('figure.wide')].map((figure) => {hint})"
    for width, there in ((390, True), (1280, False)):
        browser.resize(width)
        browser.open((SITE / "notebooks/rewards/06_input_or_output.html").as_uri())
        found = browser.evaluate(hints)
        assert bool(found) is there, width
        assert all("Swipe" in text for text in found), width


@pytest.mark.browser
def test_mathematics_is_rendered(browser: Browser) -> None:
    with_math = [
        path
        for path in visited()
        if any(
            "math" in facts.get("class", "").split() for _, facts in parsed(path).tags
        )
    ]
    assert with_math
    for path in with_math:
        browser.open(path.as_uri())
        sources = "document.querySelectorAll('.math').length"
        drawn = "document.querySelectorAll('.math > mjx-container').length"
        assert browser.wait(f"{drawn} >= {sources}"), name_of(path)
        errors = "[...document.querySelectorAll('mjx-merror')].map((e) => e.title)"
        assert browser.evaluate(errors) == [], name_of(path)
        stops = "[...document.querySelectorAll('mjx-container')].filter("
        assert browser.evaluate(f"{stops}(e) => e.tabIndex >= 0).length") == 0
        font = "document.fonts.ready.then((f) => [...f].some("
        font += "(x) => x.family.startsWith('MJX') && x.status === 'loaded'))"
        assert browser.evaluate(font), f"{name_of(path)}: no font for mathematics"


@pytest.mark.browser
def test_nothing_is_folded_on_paper(browser: Browser) -> None:
    # Claims that hold and the code of figures used to be missing in print.
    closed = "document.querySelectorAll('details:not([open]), .toggle-hidden').length"
    for name in toc():
        browser.open((SITE / f"{name}.html").as_uri())
        before = browser.evaluate(closed)
        browser.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert browser.evaluate(closed) == 0, name
        browser.evaluate("dispatchEvent(new Event('afterprint'))")
        assert browser.evaluate(closed) == before, name


@pytest.mark.browser
def test_unfolded_code_is_on_paper_at_once(browser: Browser) -> None:
    # It used to be faded in, and paper showed the first, empty moment.
    code = "document.querySelector('div.cell details.hide > .cell_input')"
    line = f"{code}.parentElement.querySelector('summary').checkVisibility()"
    browser.open((SITE / "notebooks" / "start" / "01_privacy.html").as_uri())
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        browser.evaluate("dispatchEvent(new Event('beforeprint'))")
        found = browser.evaluate(f"[getComputedStyle({code}).opacity, {line}]")
        assert found == ["1", False]
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


@pytest.mark.browser
def test_a_page_shows_its_figure_early_and_keeps_the_audit_small(browser):
    for source in notebooks.find(ROOT):
        name, found = notebooks.name_of(source), measure(browser, source)
        assert found.audit < 0.2, (name, found)
        assert found.figure is None or found.figure <= 2.0, (name, found)
        assert found.line <= 1, (name, found)


# The table of an explorer as texts, and what the slider shows.
TABLE = """[...document.querySelectorAll(".explorer tbody tr")].map(
  (row) => [...row.cells].map((cell) => cell.textContent))"""
SHOWN = """[".explorer-place", ".explorer-value"].flatMap((part) =>
  [...document.querySelectorAll(".explorer " + part)].map((e) => e.innerText))"""
FOCUSED = "document.activeElement.matches('.explorer input[type=range]')"
EXPLORED = ["start/01_privacy", "rewards/05_cost"]


@pytest.mark.browser
@pytest.mark.parametrize("name", EXPLORED)
def test_an_explorer_answers_to_the_keyboard_as_its_table_says(browser, name):
    browser.resize(PHONE)
    assert browser.open((SITE / "notebooks" / f"{name}.html").as_uri()) == []
    table = browser.evaluate(TABLE)
    assert len(table) > 5
    start = int(browser.evaluate("document.querySelector('.explorer').dataset.start"))
    assert browser.evaluate(SHOWN) == table[start]

    # The Tab key leads there from the fold of the code that made it.
    fold = "document.querySelector('.explorer').closest('.cell').querySelector"
    browser.evaluate(f"{fold}('summary').focus()")
    browser.press("Tab")
    assert browser.evaluate(FOCUSED)
    browser.press("Home")
    for row in table:
        assert browser.evaluate(SHOWN) == row
        said = browser.evaluate("document.activeElement.ariaValueText")
        assert said.endswith(f" = {row[0]}")
        browser.press("ArrowRight")
    browser.press("ArrowLeft")
    assert browser.evaluate(SHOWN) == table[-2]
    live = "document.querySelector('.explorer output').ariaLive"
    assert browser.evaluate(live) == "polite"
    label = "document.querySelector('.explorer input').labels[0].innerText"
    assert browser.evaluate(label) == f"ε = {table[-2][0]}"


@pytest.mark.browser
@pytest.mark.parametrize("name", EXPLORED)
def test_without_scripts_and_on_paper_an_explorer_is_its_table(browser, name):
    address = (SITE / "notebooks" / f"{name}.html").as_uri()
    visible = "document.querySelector('.explorer table').checkVisibility()"
    slider = "!!document.querySelector('.explorer input')?.checkVisibility()"
    browser.open(address)
    assert browser.evaluate(f"[{visible}, {slider}]") == [False, True]
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(f"[{visible}, {slider}]") == [True, False]
    browser.call("Emulation.setEmulatedMedia", media="")
    browser.scripts(run=False)
    try:
        browser.open(address)
        assert browser.evaluate(f"[{visible}, {slider}]") == [True, False]
    finally:
        browser.scripts(run=True)


@pytest.mark.browser
def test_search_finds(browser: Browser) -> None:
    address = f"{(SITE / 'search.html').as_uri()}?q=saddle+point"
    assert browser.open(address) == []
    assert browser.wait("document.querySelectorAll('#search-results li a').length > 0")
    done = "/found|matching/.test(document.querySelector('#search-results').innerText)"
    assert browser.wait(done)
    assert browser.complaints() == []


@pytest.mark.browser
def test_the_filter_of_the_scoreboard(browser: Browser) -> None:
    browser.open((SITE / "book" / "claims.html").as_uri())
    shown = (
        "[...document.querySelectorAll('.claim-list tr[data-verdict]')]"
        ".filter((row) => row.checkVisibility()).length"
    )
    headlines = [
        claim for claim in claims() if claim.level == "headline" and not claim.same_as
    ]
    assert browser.evaluate(shown) == len(headlines)
    group = ".claim-filter-buttons:nth-of-type({}) button:nth-child({})"
    verdict_button, everything = group.format(2, 1), group.format(1, 2)
    browser.evaluate(f"document.querySelector('{verdict_button}').click()")
    pressed = f"document.querySelector('{verdict_button}[aria-pressed=true]').innerText"
    verdict = browser.evaluate(pressed).split(maxsplit=1)[1]
    assert browser.evaluate(shown) == sum(one.verdict == verdict for one in headlines)
    browser.evaluate(f"document.querySelector('{everything}').click()")
    expected = sum(claim.verdict == verdict for claim in claims())
    assert browser.evaluate(shown) == expected
    browser.evaluate(f"document.querySelector('{verdict_button}').click()")
    browser.evaluate(
        "(() => { const f = document.querySelector('.claim-filter input');"
        "f.value = 'no such words'; f.dispatchEvent(new Event('input')); })()"
    )
    assert browser.evaluate(shown) == 0


@pytest.mark.browser
@pytest.mark.parametrize("name", ["claims", "errata"])
def test_paper_has_what_the_filter_leaves_out_at_first(browser, name) -> None:
    browser.open((SITE / "book" / f"{name}.html").as_uri())
    hidden = "document.querySelectorAll('[data-level][hidden]').length"
    before = browser.evaluate(hidden)
    assert before > 0
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(hidden) == 0
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    assert browser.evaluate(hidden) == before


@pytest.mark.browser
def test_a_link_to_an_erratum_shows_it(browser: Browser) -> None:
    """It would be hidden, since the filter begins with the headlines."""
    slip = "document.querySelector('.claim-fold details.erratum')"
    browser.open((SITE / "book" / "errata.html").as_uri())
    assert not browser.evaluate(f"{slip}.checkVisibility()")
    browser.evaluate(f"location.hash = {slip}.id")
    assert browser.wait(f"{slip}.checkVisibility() && {slip}.open")


@pytest.mark.browser
def test_a_verdict_leads_to_the_cell_that_computes_it(browser: Browser) -> None:
    browser.resize(DESK)
    browser.open((SITE / "book" / "claims.html").as_uri())
    link = "document.querySelector('.claim-list a[href*=\"#claim-\"]')"
    browser.open(browser.evaluate(f"{link}.href"))
    seen = (
        "((box) => box.top >= 0 && box.top < innerHeight)"
        "(document.querySelector(':target').getBoundingClientRect())"
    )
    assert browser.wait(seen)


# Figures are drawn dark on white, and must stay so.
DIMMED = """[...document.querySelectorAll("article img")].filter((image) => {
  const style = getComputedStyle(image);
  return style.filter !== "none" || style.backgroundColor !== "rgb(255, 255, 255)";
}).map((image) => "dimmed: " + image.alt)"""

# Text whose contrast with what lies behind it is below level AA of WCAG 2.2: 4.5,
# or 3 where it is large. Formulas inherit their colour; pictures are not text.
CONTRAST = """(() => {
  const parse = (text) => {
    const parts = text.match(/[\\d.]+/g).map(Number);
    return [parts[0], parts[1], parts[2], parts.length > 3 ? parts[3] : 1];
  };
  const over = ([r, g, b, a], [R, G, B]) =>
    [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => {
      c /= 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    const paper = [255, 255, 255];
    return layers.reverse().reduce((below, layer) => over(layer, below), paper);
  };
  const faint = new Map();
  const walker = document.createTreeWalker(
    document.querySelector("#main-content"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("svg, mjx-container, script, style, .headerlink")) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const text = over(parse(style.color), back);
    const [low, high] = [light(text), light(back)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5) - 0.005) {
      const name = element.tagName.toLowerCase() + "." + element.className;
      const sample = element.textContent.trim().slice(0, 30);
      faint.set(name, `${name} ${ratio.toFixed(2)} ${sample}`);
    }
  }
  return [...faint.values()];
})()"""


@pytest.mark.browser
def test_text_and_figures_can_be_read_in_light_and_dark(browser: Browser) -> None:
    browser.resize(DESK)
    problems = []
    for path in visited():
        browser.open(path.as_uri())
        for scheme in ("light", "dark"):
            browser.colours(scheme)
            assert browser.wait(f"document.documentElement.dataset.theme == '{scheme}'")
            # Folded claims and code count too; colours that fade must have arrived.
            browser.evaluate(
                "(() => { for (const fold of document.querySelectorAll('details'))"
                " fold.open = true;"
                " for (const fade of document.getAnimations()) fade.finish(); })()"
            )
            problems += [
                f"{name_of(path)}, {scheme}: {text}"
                for script in (CONTRAST, DIMMED)
                for text in browser.evaluate(script)
            ]
    browser.colours("light")
    assert not problems, "\n".join(problems)
