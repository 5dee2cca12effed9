"""SBML: mass action in whatever form it is written, and one sentence for the rest."""

from pathlib import Path

import pytest

from dplib.macroscopic.network import NetworkError, parse
from dplib.macroscopic.sbml import read_sbml

MATH = "http://www.w3.org/1998/Math/MathML"


def apply(operator, *parts):
    return f"<apply><{operator}/>{''.join(parts)}</apply>"


def times(*names):
    return apply("times", *map(name, names))


def name(text):
    return f"<ci>{text}</ci>" if isinstance(text, str) else f"<cn>{text}</cn>"


def reaction(law, reactants, products, *, reversible=False, ident="meet", local=""):
    """Return the XML of a reaction; sides map species to multiplicities."""

    def side(tag, species):
        each = "".join(
            f'<speciesReference species="{one}" stoichiometry="{n}" constant="true"/>'
            for one, n in species.items()
        )
        return f"<{tag}>{each}</{tag}>" if each else ""

    kinetic = f'<kineticLaw><math xmlns="{MATH}">{law}</math>{local}</kineticLaw>'
    return (
        f'<reaction id="{ident}" reversible="{str(reversible).lower()}" fast="false">'
        f"{side('listOfReactants', reactants)}{side('listOfProducts', products)}"
        f"{kinetic if law else ''}</reaction>"
    )


def model(*reactions, size=1, amounts=True, fixed="", more=""):
    species = "".join(
        f'<species id="{one}" compartment="field" initialAmount="2" '
        f'hasOnlySubstanceUnits="{str(amounts).lower()}" '
        f'boundaryCondition="{str(one == fixed).lower()}" constant="false"/>'
        for one in ("A", "R", "AR", "unused")
    )
    numbers = "".join(
        f'<parameter id="{one}" value="{value}" constant="true"/>'
        for one, value in (("k", 3), ("back", 0.5), ("none", 0))
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1">
<model id="m"><listOfCompartments>
<compartment id="field" size="{size}" spatialDimensions="3" constant="true"/>
</listOfCompartments><listOfSpecies>{species}</listOfSpecies>
<listOfParameters>{numbers}</listOfParameters>{more}
<listOfReactions>{"".join(reactions)}</listOfReactions></model></sbml>"""


def read(tmp_path, text):
    path = tmp_path / "mine.xml"
    path.write_text(text, encoding="utf-8")
    return read_sbml(path)


def same(network, text):
    expected = parse(text)
    assert network.species == expected.species
    assert network.reactants.tolist() == expected.reactants.tolist()
    assert network.products.tolist() == expected.products.tolist()
    assert network.rates.tolist() == pytest.approx(expected.rates.tolist(), rel=1e-15)


PAIR = ({"A": 1, "R": 1}, {"AR": 1})
FORWARD = times("k", "A", "R")
NET = apply("minus", FORWARD, times("back", "AR"))
SQUARE = apply("power", name("A"), name(2))
BOTH = apply("minus", name("A"), name(1))


def test_a_reversible_reaction_becomes_two(tmp_path):
    same(
        read(tmp_path, model(reaction(NET, *PAIR, reversible=True))),
        "A + R <-> AR : 3, 0.5",
    )


def test_a_reaction_that_does_not_go_back_is_one(tmp_path):
    """SBML's `reversible` is true by default, whatever the rate says."""
    same(
        read(tmp_path, model(reaction(FORWARD, *PAIR, reversible=True))),
        "A + R -> AR : 3",
    )


@pytest.mark.parametrize(
    "law",
    [
        apply("times", name("k"), SQUARE),
        apply("times", name("k"), name("A"), BOTH),
        apply("divide", times("k", "A", "A"), name("field")),
        apply("times", apply("plus", name(1), name(2)), SQUARE),
        apply("minus", apply("minus", times("k", "A", "A"))),
    ],
)
def test_two_of_a_kind_in_every_form(tmp_path, law):
    same(read(tmp_path, model(reaction(law, {"A": 2}, {"R": 1}))), "2 A -> R : 3")


def test_concentrations_become_populations(tmp_path):
    """In a field of 2: 2 k (A/2)(R/2) = (k/2) A R, and 2 back (AR/2) = back AR."""
    law = apply("times", name("field"), NET)
    text = model(reaction(law, *PAIR, reversible=True), size=2, amounts=False)
    same(read(tmp_path, text), "A + R <-> AR : 1.5, 0.5")


@pytest.mark.parametrize("dimensions", ["3", "2", "0.5", None])
def test_concentrations_whatever_the_dimension(tmp_path, dimensions):
    text = model(reaction(times("k", "A"), {"A": 1}, {"R": 1}), size=4, amounts=False)
    given = f'spatialDimensions="{dimensions}"' if dimensions else ""
    same(read(tmp_path, text.replace('spatialDimensions="3"', given)), "A -> R : 0.75")


def test_no_concentrations_at_a_point(tmp_path):
    text = model(reaction(times("k", "A"), {"A": 1}, {"R": 1}), size=4, amounts=False)
    point = text.replace('size="4" spatialDimensions="3"', 'spatialDimensions="0"')
    same(read(tmp_path, point), "A -> R : 3")


COMP = "http://www.sbml.org/sbml/level3/version1/comp/version1"
PLAIN = model(reaction(times("k", "A"), {"A": 1}, {"R": 1}))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("<model ", '<model conversionFactor="k" ', ": the model has conversion fact"),
        (
            '<species id="A"',
            '<species id="A" conversionFactor="k"',
            ": the model has conversion factors",
        ),
        ('fast="false"', 'fast="true"', ": reaction 'meet': it is 'fast'"),
        (
            'level="3" version="1">\n<model id="m">',
            f'xmlns:comp="{COMP}" comp:required="true" level="3" version="1">'
            '<comp:listOfModelDefinitions><comp:modelDefinition id="other"/>'
            '</comp:listOfModelDefinitions><model id="m"><comp:listOfSubmodels>'
            '<comp:submodel comp:id="inside" comp:modelRef="other"/>'
            "</comp:listOfSubmodels>",
            ": the model has extensions that change its meaning",
        ),
        (
            '<speciesReference species="R"',
            '<speciesReference species="X"',
            r", line \d+: Invalid 'species' attribute",
        ),
        (
            'id="A" compartment="field"',
            'id="A" compartment="X"',
            r", line \d+: Invalid value found for Species 'compartment'",
        ),
        ("<ci>k</ci>", "<ci>X</ci>", r", line \d+: A <ci> element"),
    ],
)
def test_what_changes_the_meaning_is_refused(tmp_path, old, new, says):
    same(read(tmp_path, PLAIN), "A -> R : 3")
    assert old in PLAIN
    with pytest.raises(NetworkError, match=f"^mine.xml{says}"):
        read(tmp_path, PLAIN.replace(old, new))


def test_level_3_version_2(tmp_path):
    newer = PLAIN.replace("level3/version1/core", "level3/version2/core")
    newer = newer.replace('level="3" version="1"', 'level="3" version="2"')
    same(read(tmp_path, newer.replace('fast="false"', "")), "A -> R : 3")


def test_a_fast_reaction_in_level_2(tmp_path):
    text = """<sbml xmlns="http://www.sbml.org/sbml/level2/version4" level="2"
    version="4"><model id="m"><listOfCompartments><compartment id="field" size="4"/>
    </listOfCompartments><listOfSpecies><species id="A" compartment="field"
    initialAmount="2"/></listOfSpecies><listOfReactions><reaction id="meet"
    reversible="false" fast="false"><listOfReactants><speciesReference species="A"/>
    </listOfReactants><kineticLaw><math xmlns="http://www.w3.org/1998/Math/MathML">
    <apply><times/><cn>2</cn><ci>A</ci></apply></math></kineticLaw></reaction>
    </listOfReactions></model></sbml>"""
    same(read(tmp_path, text), "A -> 0 : 0.5")
    with pytest.raises(NetworkError, match="reaction 'meet': it is 'fast'"):
        read(tmp_path, text.replace('fast="false"', 'fast="true"'))


def test_local_and_computed_parameters(tmp_path):
    local = (
        '<listOfLocalParameters><localParameter id="own" value="7"/>'
        "</listOfLocalParameters>"
    )
    text = model(
        reaction(times("own", "A"), {"A": 1}, {}, ident="a", local=local),
        reaction(name("k"), {}, {"A": 1}, ident="b"),
        more=f'<listOfInitialAssignments><initialAssignment symbol="k"><math '
        f'xmlns="{MATH}">{times("back", 8)}</math></initialAssignment>'
        "</listOfInitialAssignments>",
    )
    same(read(tmp_path, text), "A -> 0 : 7\n0 -> A : 4")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            model(
                reaction(
                    apply("divide", times("k", "A"), apply("plus", name(1), name("A"))),
                    {"A": 1},
                    {"R": 1},
                )
            ),
            "reaction 'meet': its rate 'k * A / (1 + A)' is no constant times",
        ),
        (model(reaction(times("k", "A"), *PAIR)), "reaction 'meet': its rate 'k * A'"),
        (model(reaction(NET, *PAIR)), "reaction 'meet': its rate 'k * A * R - back"),
        (
            model(reaction(times("none", "A", "R"), *PAIR)),
            "reaction 'meet': its rate 'none * A * R' is no constant",
        ),
        (
            model(reaction(apply("exp", name("A")), {"A": 1}, {})),
            "reaction 'meet': its rate 'exp(A)'",
        ),
        (
            model(
                reaction(
                    apply("plus", FORWARD, times("k", "AR")), *PAIR, reversible=True
                )
            ),
            "reaction 'meet': its rate",
        ),
        (model(reaction("", *PAIR)), "reaction 'meet': there is no rate"),
        (
            model(reaction(FORWARD, {"A": 0.5, "R": 1}, {})),
            "reaction 'meet': 'A' needs a whole number",
        ),
        (
            model(reaction(FORWARD, *PAIR), fixed="R"),
            "reaction 'meet': the population of 'R' is held constant",
        ),
        (
            model(
                reaction(FORWARD, *PAIR),
                more=f'<listOfRules><rateRule variable="unused"><math xmlns="{MATH}">'
                f"{name(1)}</math></rateRule></listOfRules>",
            ),
            "the model has rules",
        ),
        (
            model().replace("<listOfReactions></listOfReactions>", ""),
            "there is no reac",
        ),
    ],
)
def test_anything_else_is_one_sentence(tmp_path, text, says):
    with pytest.raises(NetworkError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"mine.xml: {says}")
    assert "\n" not in str(caught.value)


def test_what_is_no_sbml(tmp_path):
    with pytest.raises(NetworkError, match=r"^mine.xml, line \d+: "):
        read(tmp_path, "A + R <-> AR : 3, 1")
    (tmp_path / "mine.xml").write_bytes(b"\xff\xfe")
    with pytest.raises(NetworkError, match="not a text in UTF-8"):
        read_sbml(tmp_path / "mine.xml")
    with pytest.raises(NetworkError, match=r"^nowhere\.xml: No such file"):
        read_sbml(Path("nowhere.xml"))
