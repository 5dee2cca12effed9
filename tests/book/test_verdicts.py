"""A check shows itself in words and sign, and leaves all that the scoreboard needs."""

from __future__ import annotations

import dataclasses
import json
import re
from types import MappingProxyType

import IPython
import IPython.display
import pytest

from dplib.book import ledger, verdicts
from dplib.book.verdicts import MIME_TYPE, Check, look

CLAIM = ledger.Claim(
    id="truthful.half",
    where="Theorem 1 <&> 2",
    kind="number",
    level="result",
    says='one "half" <b>',
    verdict="reproduced",
    notebook="truthful/01_tiny",
    printed=("0.50", "0.25"),
    at=MappingProxyType({"n": 2, "private": True}),
    evidence="exact",
)
CHECK = Check(CLAIM, "reproduced", 0.5, [0.4, 0.6], "ours 0.5 < 1")


def test_every_verdict_has_a_sign_and_a_colour_of_its_own() -> None:
    looks = [*ledger.VERDICTS.values(), look("not applicable")]
    assert len({one.sign for one in looks}) == len(looks)
    assert len({one.colour for one in ledger.VERDICTS.values()}) == len(ledger.VERDICTS)


def test_the_payload_is_plain_json_and_complete() -> None:
    payload = CHECK.payload()
    assert json.loads(json.dumps(payload)) == payload
    assert payload == {
        "id": "truthful.half",
        "where": "Theorem 1 <&> 2",
        "kind": "number",
        "level": "result",
        "says": 'one "half" <b>',
        "evidence": "exact",
        "printed": ["0.50", "0.25"],
        "at": {"n": 2, "private": True},
        "ledger": "reproduced",
        "verdict": "reproduced",
        "value": 0.5,
        "interval": [0.4, 0.6],
        "bound": 0.0,
        "finding": "ours 0.5 < 1",
    }


@pytest.mark.parametrize("verdict", [*ledger.VERDICTS, "not applicable"])
def test_html_has_word_and_sign_not_colour_alone(verdict) -> None:
    style = look(verdict)
    item = dataclasses.replace(CHECK, verdict=verdict)
    assert f">{style.sign} {verdict}</strong>" in item.html()
    assert style.colour in item.html()
    assert f"claim-{verdict.replace(' ', '-')}" in item.html()
    line = f"1 claim: 1 {style.sign} {verdict}</summary>"
    assert line in verdicts.closing([item])["text/html"]
    assert f">{style.sign} {verdict}</th>" in verdicts.closing([item])["text/html"]
    table = verdicts.one_table("half", {"a": item})["text/html"]
    assert f">{style.sign} {verdict}</td>" in table


@pytest.mark.parametrize(
    ("verdict", "evidence", "word"),
    [
        ("reproduced", "instances", "reproduced on instances"),
        ("reproduced", "sampling", "reproduced by sampling"),
        ("reproduced", "exact", "reproduced"),
        ("refuted", "instances", "refuted"),
    ],
)
def test_what_was_tried_on_cases_is_not_said_to_hold(verdict, evidence, word) -> None:
    claim = dataclasses.replace(CLAIM, verdict=verdict, evidence=evidence)
    item = dataclasses.replace(CHECK, claim=claim, verdict=verdict)
    assert item.word == claim.word == word
    assert f" {word}</strong>" in item.html()


def test_html_escapes_what_the_ledger_says() -> None:
    for markup in (CHECK.html(), verdicts.closing([CHECK])["text/html"]):
        assert "<b>" not in markup
        assert "Theorem 1 &lt;&amp;&gt; 2" in markup
        assert 'one "half" &lt;b&gt;' in markup
        assert "ours 0.5 &lt; 1" in markup
    assert 'id="claim-truthful.half"' in CHECK.html()
    doubt = "(in the text as we have it)"
    uncertain = dataclasses.replace(CLAIM, text="uncertain")
    assert doubt in dataclasses.replace(CHECK, claim=uncertain).html()
    assert doubt not in CHECK.html()


def test_a_line_shows_sign_word_and_finding_and_opens_to_the_claim() -> None:
    line, opened = CHECK.html().split("</summary>")
    assert "✓ reproduced" in line
    assert "ours 0.5" in line
    assert "Theorem 1" not in line
    assert "Theorem 1" in opened
    assert "(exact; <code>truthful.half</code>)" in opened


def test_the_closing_line_counts_and_opens_to_a_row_a_check_in_order() -> None:
    claim = dataclasses.replace(CLAIM, id="truthful.b", where="Second")
    second = dataclasses.replace(CHECK, claim=claim, verdict="refuted")
    whole = verdicts.closing([second, CHECK, CHECK])
    line = "3 claims: 2 ✓ reproduced · 1 ✗ refuted"
    assert whole["text/plain"].splitlines() == [
        line,
        *(item.text() for item in (second, CHECK, CHECK)),
    ]
    markup = whole["text/html"]
    assert f"<summary>{line}</summary><table" in markup
    assert markup.count("<tr>") == 4  # with the head
    rows = markup.split("<tbody>")[1]
    assert rows.index("✗ refuted") < rows.index("✓ reproduced")
    assert MIME_TYPE not in whole  # the scoreboard counts each check once


def test_a_table_of_the_paper_has_printed_ours_and_verdict_by_label() -> None:
    claim = dataclasses.replace(CLAIM, printed=("0.50",), unit="m")
    item = dataclasses.replace(CHECK, claim=claim, finding="ours 0.5 m, printed 0.50 m")
    markup = verdicts.one_table("size", {"x < 1": item})["text/html"]
    cells = re.findall(r"<t[dh] [^>]*>([^<]*)<", markup)
    assert cells == [
        *("size", "printed", "ours", "verdict"),
        *("x &lt; 1", "0.50 m", "0.5 m", "✓ reproduced"),
    ]
    assert '<tr id="claim-truthful.half">' in markup  # where the scoreboard leads


def test_show_displays_inside_a_notebook_and_prints_elsewhere(
    monkeypatch, capsys
) -> None:
    seen = []
    monkeypatch.setattr(
        IPython.display, "display", lambda data, raw: seen.append((data, raw))
    )
    verdicts.show(CHECK.bundle())
    assert capsys.readouterr().out == (
        '✓ reproduced | truthful.half | Theorem 1 <&> 2 | one "half" <b> | '
        "ours 0.5 < 1 | evidence: exact\n"
    )
    monkeypatch.setattr(IPython, "get_ipython", object)
    verdicts.show(CHECK.bundle())
    assert seen == [(CHECK.bundle(), True)]
    monkeypatch.undo()
    verdicts.show({MIME_TYPE: CHECK.payload()})  # of a row of a table: nothing to read
    assert capsys.readouterr().out == ""
