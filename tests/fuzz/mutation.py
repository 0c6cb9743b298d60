"""Mutation: texts that are right and a source of chance come in, a text that may be wrong goes out."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_TOKEN = re.compile(r"\s+|<[^<>\s]*>|[?$]?\w+|\"[^\"\n]*\"|'[^'\n]*'|.", re.DOTALL)

# What has broken parsers before, or could: halves of things, ends of ranges, signs of other languages.
_CHARACTERS = (
    *(
        "\x00",
        "\x01",
        "\x7f",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ufffe",
        "\U0010ffff",
        "\u0301",
        "\u00a0",
        "\ud800",
    ),
    *("·", "é", "हि", "İ", "ß", "\r", "\n", "\t", "9" * 40, "-" + "9" * 400, "0" * 300, "\x1f\x8b"),
)
_WORDS = r"""
{  }  (  )  [  ]  <  >  <<  >>  {|  |}  ~  ^  ^^  |  ||  &&  !  *  +  -  /  ?  $  .  ,  ;  :  @  @en
@en--ltr  #  \  '  "  =  %  %zz  _:  \u0000  \uD800  \U00110000  \u0041  0  -0  1e400  -1E-400  1.  .5
1e  NaN  INF  true  UNDEF  a  _:b  []  ()  <>  <a b>  <\u0020>  <a:b>  x:  :y  p:q  SELECT  SELECT *  ASK
CONSTRUCT  DESCRIBE  WHERE  FROM  FROM NAMED  GRAPH  SERVICE  OPTIONAL  UNION  MINUS  FILTER  BIND
VALUES  EXISTS  NOT  IN  AS  DISTINCT  REDUCED  GROUP BY  HAVING  ORDER BY  LIMIT  OFFSET  LIMIT 0
OFFSET 99999999999999999999  BASE  COUNT(*)  SUM(?s)  GROUP_CONCAT(?s; SEPARATOR='')  SAMPLE  AVG
IF(1, 2, 3)  COALESCE()  BNODE('x')  UUID()  RAND()  NOW()  REGEX(?s, '(')  REPLACE(?s, '', '$1')
SUBSTR('a', -1, 1e9)  STR(?s)  IRI('a b')  STRDT('1', <a:t>)  LANG(1)  STRLANG('a', 'x y')  SHA256('')
CONCAT()  YEAR('x')  ABS(-9e999)  ENCODE_FOR_URI('é')  "x"^^xsd:integer
'1999-12-31T24:00:00Z'^^<http://www.w3.org/2001/XMLSchema#dateTime>
'x'^^<http://www.w3.org/2001/XMLSchema#integer>  'P1Y'^^<http://www.w3.org/2001/XMLSchema#duration>
<http://www.w3.org/2001/XMLSchema#dateTime>(?s)  <http://www.w3.org/2001/XMLSchema#decimal>('1e5')
REGISTER QUERY q AS  REGISTER STREAM s AS  COMPUTED EVERY 1s  FROM STREAM <http://ex/s>  STREAM
[RANGE 1s STEP 1s]  [RANGE TRIPLES 0]  [RANGE 0s STEP 1s]  [NOW]  [ALL]  TUMBLING  AGGREGATE
timestamp(?s)  SEQ  EQUALS  OPTIONALSEQ  EQUALSOPTIONAL  getDURATION()  WITHIN 1s  1h30m
CONSUMPTION RECENT  (<a:p>|^<a:q>)*  !(<a:p>|^a)  <a:p>{1,2}  LATERAL  TRIPLE(1, 2, 3)  VERSION  INSERT
DELETE  DATA  LOAD <a:b>  CLEAR ALL  DROP SILENT GRAPH <a:g>  WITH <a:g>  USING  encoding="big5"
<!DOCTYPE x [  <?xml  &amp;  &x;  <![CDATA[  rdf:about=''  rdf:ID='1'  "@id"  "@graph"  "@context"
"@type"  "@value": null  "@list": [[]]  "@reverse": {}  null  "9999-12-31T24:00:00Z"  # end 5 00000000
"2026-02-30T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>
"0000-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>
"""
_ODD = (*_CHARACTERS, *re.split(r"  |\n", _WORDS.strip()))


# Tokens by their kind, and others that may stand in the place of one: what comes out is often right, and odd.
_KINDS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (
        re.compile(r"[?$]\w+"),
        ("?s", "?S", "?p", "?o", "?x·y", "?instant", "-?o", "!?s", "STR(?o)", "(?s + ?o)", "IF(?o, ?s, 1)"),
    ),
    (
        re.compile(r"<[^<>]*>"),
        ("<a:p>", "<>", "<a:é>", "<http://ex/s>", "<a:%20>", "a", "<urn:x:y#z>", "?iri", "_:b"),
    ),
    (
        re.compile(r"[\"'].*"),
        ("''", r"'\u0000'", r"'\\'", "'é\U0001f600'", "'''a'b\n'''", "'%s${x}'", "'2020-02-30'", "'1'@en"),
    ),
    (
        re.compile(r"\d+"),
        ("0", "1", "-1", "1.5", "1e308", "999999999999999999999", "0.000000000000000000001", "?n"),
    ),
    (re.compile(r"[=<>!]=?"), ("=", "!=", "<", ">=", "&&", "||", "+", "-", "*", "/", "IN", "NOT IN")),
    (
        re.compile(r"(?i)optional|minus|union|filter|graph"),
        ("OPTIONAL", "MINUS", "UNION", "FILTER EXISTS", "FILTER NOT EXISTS", "GRAPH ?g", ""),
    ),
    (
        re.compile(r"(?i)seq|equals|optionalseq|equalsoptional"),
        ("SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL", "UNION"),
    ),
    (re.compile(r"(?i)select|ask"), ("SELECT", "ASK", "SELECT DISTINCT", "SELECT REDUCED", "DESCRIBE")),
    (
        re.compile(r"(?i)str|regex|count|sum|min|max|avg|bound|lang|if|coalesce|year|iri|strlen|abs|concat"),
        ("STR", "COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "LANG", "ABS", "YEAR", "UCASE", "DATATYPE"),
    ),
)


def mutated(chance: random.Random, seeds: Sequence[str]) -> str:
    """One of the texts with a few changes; most are small, so that much of it stays right."""
    pieces = _TOKEN.findall(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        change = _exchanged if chance.random() < 0.75 else _changed
        pieces = change(chance, pieces, seeds)
    return "".join(pieces)


def _exchanged(chance: random.Random, pieces: list[str], seeds: Sequence[str]) -> list[str]:
    """A token gives way to another of its kind."""
    for _ in range(20):
        at = chance.randrange(len(pieces) + 1)
        for kind, others in _KINDS if at < len(pieces) else ():
            if kind.fullmatch(pieces[at]):
                known = [piece for piece in pieces if kind.fullmatch(piece)]
                new = chance.choice(known if chance.random() < 0.5 else others)
                return [*pieces[:at], new, *pieces[at + 1 :]]
    return pieces


def garbled(chance: random.Random, text: str) -> bytes:
    """The text as bytes, now and then with some that are no UTF-8."""
    data = bytearray(text.encode(errors="surrogatepass"))
    for _ in range(chance.choice((0, 0, 0, 1, 3))):
        at = chance.randrange(len(data) + 1)
        data[at : at + chance.choice((0, 1))] = bytes([chance.randrange(256)])
    return bytes(data)


def _changed(chance: random.Random, pieces: list[str], seeds: Sequence[str]) -> list[str]:
    start = chance.randrange(len(pieces) + 1)
    end = min(len(pieces), start + chance.choice((1, 1, 2, 5, 20)))
    inside = pieces[start:end]
    match chance.randrange(9):
        case 0:
            inside = []
        case 1:
            inside = [*inside, *inside]
        case 2:
            inside = inside * chance.choice((3, 30, 300)) if len(inside) < 6 else inside
        case 3 | 4:
            inside = [chance.choice(_ODD), *inside]
        case 5:
            inside = [f" {chance.choice(_ODD)} "]
        case 6:
            other = _TOKEN.findall(chance.choice(seeds))
            begin = chance.randrange(len(other) + 1)
            inside = other[begin : begin + chance.choice((1, 3, 10, 40))]
        case 7:
            chance.shuffle(inside)
        case 8 if inside and inside[0]:
            at = chance.randrange(len(inside[0]))
            letter = chance.choice(("", chr(chance.randrange(1, 0x300)), "_"))
            inside = [inside[0][:at] + letter + inside[0][at + 1 :], *inside[1:]]
    return [*pieces[:start], *inside, *pieces[end:]]
