"""What mutated input is given to: each subject makes a case of a seed and tries it.

The property: nothing comes out but an answer, or an error of rheos' own, and in a few seconds. That DuckDB
refuses a statement (EvaluationError) is no error of the user's: the statement is of our making. Only that of
U+0000 is known.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import rheos
from rheos.errors import EvaluationError, RheosError, TimeLimitError
from rheos.mapping import Mapping
from rheos.server import push
from rheos.server.problems import Problem
from rheos.sources.decoding import Decoding, Messages, decoder
from rheos.sources.documents import is_document, read_document
from rheos.sources.lines import read_chunks, read_lines
from rheos.sources.push import PushLog
from rheos.store import formats
from rheos.syntax import detect
from tests.fuzz import seeds
from tests.fuzz.mutation import garbled, mutated

DATA = """@prefix : <a:> .
:s :p 1 , 2.5 , "x"@en , :o ; :q :t . :o :p :s ; a :t . :t :q "2020-01-01T00:00:00Z" .
<http://ex/g> { :s :p 1 . :o :q 'x' . }"""
STREAM = "http://ex/s"
TIMEOUT = 3.0  # seconds that a query may run

Case = tuple[str, bytes]  # how it is read, and what it is


class Subject(ABC):
    name: ClassVar[str]

    def case(self, seed: int) -> Case:
        return self.made(random.Random(f"{self.name} {seed}"))

    @abstractmethod
    def made(self, chance: random.Random) -> Case: ...

    @abstractmethod
    def run(self, case: Case) -> None: ...

    def attempt(self, case: Case) -> Exception | None:
        """What came out that should not have."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.run(case)
        except (RheosError, Problem) as error:
            if isinstance(error, EvaluationError) and not isinstance(error, TimeLimitError):
                return error if b"\0" not in case[1] and b"\\u0000" not in case[1] else None
            return _printing(error)
        except Exception as error:
            return error
        return None


def _printing(error: Exception) -> Exception | None:
    """The message of an error is made when it is asked for."""
    try:
        str(error).encode()
    except Exception as other:
        return other
    return None


class Texts(Subject):
    """Queries; those that need an engine have one with a little data and a stream of nothing."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name, "s.nq")
        file.write_bytes(b"")
        self.engine = rheos.Engine(execution="local")
        self.engine.load(data=DATA, format="trig")
        self.streams = rheos.Engine()
        self.streams.add_stream(STREAM, file)

    def made(self, chance: random.Random) -> Case:
        return "", mutated(chance, self.seeds()).encode(errors="surrogatepass")

    def seeds(self) -> Sequence[str]:
        return seeds.queries()

    def run(self, case: Case) -> None:
        self.ask(case[1].decode(errors="surrogatepass"))

    @abstractmethod
    def ask(self, text: str) -> None: ...


class Parse(Texts):
    name = "parse"

    def ask(self, text: str) -> None:
        rheos.parse(text)


class Query(Texts):
    name = "query"

    def seeds(self) -> Sequence[str]:
        return [text for text in seeds.queries() if detect(text) == "sparql"]

    def ask(self, text: str) -> None:
        result = self.engine.query(text, timeout=TIMEOUT)
        if result.kind == "select":
            assert result.rows is not None
            result.serialize("json")


class Explain(Texts):
    name = "explain"

    def ask(self, text: str) -> None:
        self.streams.explain(text, execution="local")


class Register(Texts):
    name = "register"

    def seeds(self) -> Sequence[str]:
        return [text for text in seeds.queries() if detect(text) != "sparql"]

    def ask(self, text: str) -> None:
        self.streams.register(text).unregister()


class Update(Texts):
    name = "update"

    def seeds(self) -> Sequence[str]:
        return seeds.UPDATES

    def ask(self, text: str) -> None:
        self.engine.update(text, timeout=TIMEOUT)


class Load(Subject):
    name = "load"

    def __init__(self) -> None:
        self.engine = rheos.Engine(execution="local")

    def made(self, chance: random.Random) -> Case:
        format = chance.choice(list(seeds.FORMATS))
        return format, garbled(chance, mutated(chance, seeds.documents()[format]))

    def run(self, case: Case) -> None:
        format, data = case
        try:
            self.engine.load(data=data, format=format, base="http://ex/")
        finally:
            self.engine.clear()


class Lines(Subject):
    name = "lines"

    def made(self, chance: random.Random) -> Case:
        return chance.choice(("timed", "untimed")), garbled(chance, mutated(chance, seeds.elements()))

    def run(self, case: Case) -> None:
        kind, data = case
        chunk = read_lines(data, "b", untimed=None if kind == "timed" else 0)
        assert len(chunk.bad) <= chunk.lines
        for part in read_chunks(data, "b", "here", first=True):
            assert part.elements.num_rows <= part.lines


class Documents(Subject):
    name = "documents"

    def made(self, chance: random.Random) -> Case:
        format = chance.choice(list(seeds.graphs()))
        return format, garbled(chance, mutated(chance, seeds.graphs()[format]))

    def run(self, case: Case) -> None:
        format, data = case
        is_document("x.nq", lambda: data)
        read_document(data, "x", "b", format=formats.NAMES[format])


class Push(Subject):
    name = "push"

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.log = PushLog(Path(self.folder.name, "log"))

    def made(self, chance: random.Random) -> Case:
        media = chance.choice(list(push.MEDIA_TYPES))
        graphs = [text for texts in seeds.graphs().values() for text in texts]
        return media, garbled(chance, mutated(chance, [*seeds.elements(), *graphs]))

    def run(self, case: Case) -> None:
        media, data = case
        accepted = push.accept(self.log, Decoding(base=STREAM), data, media, 1 << 40)
        assert accepted.json()["accepted"] == accepted.elements


class Records(Subject):
    """Records of JSON and CSV, each read through one of some mappings."""

    name = "records"
    mappings = (
        Mapping("CONSTRUCT { [] ?p ?a_b ; <http://ex/q> ?v } WHERE { BIND(IRI(?k) AS ?p) }"),
        Mapping("CONSTRUCT { ?k <http://ex/q> ?v } WHERE { OPTIONAL { FILTER(?v > 1) } }"),
        Mapping('{"@vocab": "http://ex/", "k": "@id"}', "context"),
    )
    texts = (
        '{"k": "http://ex/k", "v": 1.5, "a": {"b": [1, "x", null, {"c": true}]}, "ts": 1767225600}',
        '[{"k": "k", "v": "\\u00e9\\n", "a_b": [[], [1e400]], "ts": 1767225600}]',
        'k,v,"a b",ts\nhttp://ex/k,1,"x, ""y""",2026-01-01 00:00:00\nz,,,1\n',
    )

    def made(self, chance: random.Random) -> Case:
        number = chance.randrange(len(self.mappings))
        format = "json" if number == 2 else chance.choice(["json", "csv", "tsv"])
        return f"{number} {format}", garbled(chance, mutated(chance, self.texts))

    def run(self, case: Case) -> None:
        chosen, data = case
        number, format = chosen.split()
        made = decoder(self.mappings[int(number)], "field:ts", format)
        chunk = made.decode(Messages.of([data, *data.splitlines()]), "b")
        assert chunk.elements.num_rows or chunk.bad or format != "json" or not data.strip()


SUBJECTS: dict[str, type[Subject]] = {
    subject.name: subject
    for subject in (Parse, Query, Explain, Register, Update, Load, Lines, Documents, Push, Records)
}
