"""What each operation does to the graphs, and the number of triples that went and came."""

from __future__ import annotations

import pytest

from .conftest import City

G = {":a :p 1", ":a :q :b"}
H = {":b :q :c"}
DEFAULT = {":a :p 1", ":b :p 2"}
NAMED = {":g": G, ":h": H, ":empty": set()}
EMPTIED: dict[str, set[str]] = {name: set() for name in NAMED}


def test_the_city(city: City) -> None:
    assert (city.default, city.named) == (DEFAULT, NAMED)


# --- data ------------------------------------------------------------------------------------------


def test_insert_data(city: City) -> None:
    assert city.update("INSERT DATA { :a :p 1, 3 . GRAPH :h { :x :y 'z' } . :c a :d . GRAPH :new { } }") == 3
    assert city.default == DEFAULT | {":a :p 3", ":c <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> :d"}
    assert city.named == {**NAMED, ":h": H | {':x :y "z"'}}


def test_delete_data(city: City) -> None:
    assert city.update("DELETE DATA { :a :p 1, 7 . GRAPH :g { :a :q :b } GRAPH :none { :a :p 1 } }") == 2
    assert city.default == {":b :p 2"}
    assert city.named == {**NAMED, ":g": {":a :p 1"}}


def test_blank_nodes_of_data_are_new_each_time(city: City) -> None:
    for _ in range(2):
        assert city.update("INSERT DATA { _:x :r _:y . GRAPH :h { _:x :r (1 2) } }") == 6
    assert city.count("?x", "?x :r ?y") == 2
    assert city.count("?x", "?x :r ?y . GRAPH :h { ?x :r ?list }") == 2


def test_an_empty_update_does_nothing(city: City) -> None:
    assert (
        city.update("")
        == city.update("BASE <http://ex/> PREFIX : <x>")
        == city.update("INSERT DATA {} ;")
        == 0
    )
    assert (city.default, city.named) == (DEFAULT, NAMED)


def test_prologues_hold_on(city: City) -> None:
    city.update("""
        PREFIX v: <http://v/> BASE <http://b/> INSERT DATA { v:a :p <x> } ;
        PREFIX v: <http://w/> INSERT DATA { v:a :p <x> } ;
        BASE <http://c/> INSERT DATA { v:a :p <x> } ; PREFIX : <http://nobody/>
    """)
    assert city.default - DEFAULT == {f"<http://{v}/a> :p <http://{x}/x>" for v, x in ("vb", "wb", "wc")}


# --- patterns --------------------------------------------------------------------------------------


def test_delete_where(city: City) -> None:
    assert city.update("DELETE WHERE { ?s :p ?o . GRAPH ?g { ?s :q ?x } }") == 4
    assert city.default == set()
    assert city.named == {":g": {":a :p 1"}, ":h": set(), ":empty": set()}


def test_what_goes_goes_before_what_comes(city: City) -> None:
    """Both are found in the data before: the 2 that comes for the 1 is not the 2 that goes for a 3."""
    assert city.update("DELETE { ?s :p ?o } INSERT { :a :p ?n } WHERE { ?s :p ?o BIND(?o + 1 AS ?n) }") == 4
    assert city.default == {":a :p 2", ":a :p 3"}


def test_what_goes_and_comes_again_stays(city: City) -> None:
    assert city.update("DELETE { ?s ?p ?o } INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }") == 0
    assert city.update("DELETE { ?s :p ?o } INSERT { :a :p ?o } WHERE { ?s :p ?o }") == 2
    assert city.default == {":a :p 1", ":a :p 2"}


def test_an_operation_sees_what_the_one_before_did(city: City) -> None:
    assert (
        city.update("""
        INSERT { ?s :new ?o } WHERE { ?s :p ?o } ;
        DELETE { ?s :p ?o } WHERE { ?s :new ?o FILTER(?o > 1) } ;
        INSERT { GRAPH :g { ?s :left ?o } } WHERE { ?s :p ?o }
    """)
        == 4
    )
    assert city.default == {":a :p 1", ":a :new 1", ":b :new 2"}
    assert city.named[":g"] == G | {":a :left 1"}


def test_graphs_by_variable(city: City) -> None:
    assert (
        city.update("DELETE { GRAPH ?g { ?s ?p ?o } } INSERT { ?g :had ?o } WHERE { GRAPH ?g { ?s ?p ?o } }")
        == 6
    )
    assert city.default == DEFAULT | {":g :had 1", ":g :had :b", ":h :had :c"}
    assert city.named == {":g": set(), ":h": set(), ":empty": set()}


def test_a_template_without_variables_needs_one_solution(city: City) -> None:
    assert city.update("INSERT { :x :y :z } WHERE { ?s :p ?o }") == 1
    assert city.update("DELETE { :x :y :z } WHERE { ?s :none ?o }") == 0
    assert city.update("DELETE { :x :y :z } WHERE { }") == 1
    assert city.update("INSERT { } WHERE { ?s :p ?o }") == 0


def test_the_whole_language_of_patterns(city: City) -> None:
    assert (
        city.update("""
        INSERT { GRAPH :sums { ?s :sum ?sum } }
        WHERE {
          { SELECT ?s (SUM(?o) AS ?sum) { { ?s :p ?o } UNION { GRAPH :g { ?s :p ?o } } } GROUP BY ?s }
          FILTER NOT EXISTS { GRAPH :h { ?s :q* :nowhere } }
        }
    """)
        == 2
    )
    assert city.named[":sums"] == {":a :sum 2", ":b :sum 2"}


# --- WITH and USING --------------------------------------------------------------------------------


def test_with(city: City) -> None:
    assert (
        city.update(
            "WITH :g DELETE { ?s :p ?o } INSERT { ?s :r ?o . GRAPH :h { ?s :s ?o } } WHERE { ?s :p ?o }"
        )
        == 3
    )
    assert city.default == DEFAULT
    assert city.named == {":g": {":a :r 1", ":a :q :b"}, ":h": H | {":a :s 1"}, ":empty": set()}


def test_with_leaves_the_named_graphs_in_sight(city: City) -> None:
    assert city.update("WITH :g INSERT { ?s :to ?o } WHERE { ?s :q ?x . GRAPH :h { ?x :q ?o } }") == 1
    assert city.update("WITH :g INSERT { ?g :of ?s } WHERE { ?s :q ?x . GRAPH ?g { ?x :q ?o } }") == 1
    assert city.named[":g"] == G | {":a :to :c", ":h :of :a"}


def test_with_a_graph_that_is_not_there(city: City) -> None:
    assert city.update("WITH :new DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }") == 0
    assert city.update("WITH :new INSERT { :x :y :z } WHERE { FILTER NOT EXISTS { ?s ?p ?o } }") == 1
    assert city.named == {**NAMED, ":new": {":x :y :z"}}


def test_using(city: City) -> None:
    assert city.update("INSERT { ?s :r ?o } USING :g USING :h WHERE { ?s :q ?o }") == 2
    assert city.default == DEFAULT | {":a :r :b", ":b :r :c"}


def test_using_named(city: City) -> None:
    assert city.update("INSERT { ?g :r ?o } USING NAMED :h WHERE { GRAPH ?g { ?s ?p ?o } }") == 1
    assert city.update("INSERT { ?s :r ?o } USING NAMED :h WHERE { ?s ?p ?o }") == 0
    assert city.default == DEFAULT | {":h :r :c"}


def test_using_goes_before_with(city: City) -> None:
    assert city.update("WITH :g DELETE { ?s ?p ?o } INSERT { ?s :r ?o } USING :h WHERE { ?s ?p ?o }") == 1
    assert city.update("WITH :g INSERT { ?s :r ?o } USING :h WHERE { GRAPH :h { ?s ?p ?o } }") == 0
    assert city.named == {**NAMED, ":g": G | {":b :r :c"}}


# --- templates -------------------------------------------------------------------------------------


def test_blank_nodes_are_new_for_every_solution(city: City) -> None:
    assert city.update("INSERT { _:n :of ?s ; :at [ :value ?o ] } WHERE { ?s :p ?o }") == 6
    assert city.count("?n", "?n :of ?s") == 2
    assert city.count("?n", "?n :at ?v . ?v :value ?o") == 2
    assert city.update("INSERT { _:n :of ?s } WHERE { ?s :p ?o }") == 2
    assert city.count("?n", "?n :of ?s") == 4


def test_every_solution_counts_where_blank_nodes_are_made(city: City) -> None:
    """Both solutions have the same ?q, and there are two of them all the same."""
    assert city.update("INSERT { [] :saw ?q } WHERE { ?s ?q ?o }") == 2
    assert city.update("INSERT { [] :saw :it } WHERE { ?s :saw ?o }") == 2


def test_a_blank_node_is_the_same_in_all_graphs_of_a_template(city: City) -> None:
    assert city.update("INSERT { _:n :in :d . GRAPH :g { _:n :in :g } } WHERE { :a :p 1 }") == 2
    assert city.ask("?n :in :d . GRAPH :g { ?n :in :g }")


def test_blank_nodes_that_are_there_are_found_by_variables(city: City) -> None:
    city.update("INSERT DATA { [] :r 1 . [] :r 2 }")
    assert city.update("DELETE { ?n :r ?v } INSERT { ?n :s ?v } WHERE { ?n :r ?v FILTER(?v = 2) }") == 2
    assert city.default == DEFAULT | {"[] :r 1", "[] :s 2"}


def test_the_nodes_of_a_function(city: City) -> None:
    assert city.update("INSERT { ?n :of ?s } WHERE { ?s :p ?o BIND(BNODE() AS ?n) }") == 2
    assert city.count("?n", "?n :of ?s") == 2


@pytest.mark.parametrize(
    "template",
    ["?o :is ?s", "?s ?o :x", "?s :is ?none", "?none :is ?s", "'literal' :is ?s", "1 :is 2", "?n :is 1",
     "GRAPH ?o { ?s :is ?s }", "GRAPH ?none { ?s :is 1 }"],
)  # fmt: skip
def test_what_is_no_rdf_is_left_out(city: City, template: str) -> None:
    where = "?s :p ?o OPTIONAL { ?s :nothing ?none } BIND(?o / 'x' AS ?n)"
    assert city.update(f"INSERT {{ {template} . GRAPH :h {{ ?s :kept ?o }} }} WHERE {{ {where} }}") == 2
    assert city.default == DEFAULT
    assert city.named == {**NAMED, ":h": H | {":a :kept 1", ":b :kept 2"}}


def test_what_is_no_rdf_is_left_out_of_data(city: City) -> None:
    assert city.update("INSERT DATA { 'literal' :p 1 . :x :p 1 }") == 1


def test_an_unbound_variable_deletes_nothing(city: City) -> None:
    assert city.update("DELETE { ?s ?none ?o . ?s :p ?o } WHERE { ?s :p ?o FILTER(?o = 1) }") == 1


# --- graphs as wholes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number", "default", "named"),
    [
        ("CLEAR GRAPH :g", 2, DEFAULT, {**NAMED, ":g": set()}),
        ("CLEAR DEFAULT", 2, set(), NAMED),
        ("CLEAR NAMED", 3, DEFAULT, EMPTIED),
        ("CLEAR ALL", 5, set(), EMPTIED),
        ("CLEAR SILENT GRAPH :none", 0, DEFAULT, NAMED),
        ("DROP GRAPH :g", 2, DEFAULT, {":h": H, ":empty": set()}),
        ("DROP GRAPH :empty", 0, DEFAULT, {":g": G, ":h": H}),
        ("DROP DEFAULT", 2, set(), NAMED),
        ("DROP NAMED", 3, DEFAULT, {}),
        ("DROP ALL", 5, set(), {}),
        ("DROP SILENT GRAPH :none", 0, DEFAULT, NAMED),
        ("CREATE GRAPH :new", 0, DEFAULT, {**NAMED, ":new": set()}),
        ("CREATE SILENT GRAPH :g", 0, DEFAULT, NAMED),
        ("ADD :g TO :h", 2, DEFAULT, {**NAMED, ":h": G | H}),
        ("ADD DEFAULT TO :g", 1, DEFAULT, {**NAMED, ":g": G | DEFAULT}),
        ("ADD GRAPH :g TO DEFAULT", 1, G | DEFAULT, NAMED),
        ("ADD :g TO GRAPH :new", 2, DEFAULT, {**NAMED, ":new": G}),
        ("ADD :g TO :g", 0, DEFAULT, NAMED),
        ("ADD :empty TO :new", 0, DEFAULT, {**NAMED, ":new": set()}),
        ("ADD SILENT :none TO :g", 0, DEFAULT, NAMED),
        ("COPY :g TO :h", 3, DEFAULT, {**NAMED, ":h": G}),
        ("COPY :g TO DEFAULT", 2, G, NAMED),
        ("COPY DEFAULT TO :new", 2, DEFAULT, {**NAMED, ":new": DEFAULT}),
        ("COPY :empty TO :g", 2, DEFAULT, {**NAMED, ":g": set()}),
        ("COPY :g TO :g", 0, DEFAULT, NAMED),
        ("COPY DEFAULT TO DEFAULT", 0, DEFAULT, NAMED),
        ("COPY SILENT :none TO :g", 0, DEFAULT, NAMED),
        ("MOVE :g TO :h", 5, DEFAULT, {":h": G, ":empty": set()}),
        ("MOVE :g TO DEFAULT", 4, G, {":h": H, ":empty": set()}),
        ("MOVE DEFAULT TO :new", 4, set(), {**NAMED, ":new": DEFAULT}),
        ("MOVE :g TO :g", 0, DEFAULT, NAMED),
        ("MOVE SILENT :none TO :g", 0, DEFAULT, NAMED),
    ],
)
def test_graphs_as_wholes(
    city: City, text: str, number: int, default: set[str], named: dict[str, set[str]]
) -> None:
    assert city.update(text) == number
    assert (city.default, city.named) == (default, named)


def test_a_graph_that_was_emptied_is_still_one(city: City) -> None:
    city.update("DELETE WHERE { GRAPH :g { ?s ?p ?o } }")
    assert city.ask("GRAPH :g { }")
    assert city.update("DROP GRAPH :g") == 0
