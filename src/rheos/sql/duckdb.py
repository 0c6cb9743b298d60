"""The spelling of DuckDB: what differs from `Dialect`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import TYPE_CHECKING

from rheos.algebra.literals import DATE_TIME, DIGITS
from rheos.sql.conditions import all_of, same
from rheos.sql.dialect import EXACT, FRACTION, UNRESERVED, WHOLE, Dialect

if TYPE_CHECKING:
    from rheos.sql.paths import Closure

# Letters that Unicode maps to several letters when their case changes (without those with a Greek iota).
MANY_IN_UPPER_CASE = "ßŉǰևẖẗẘẙẚﬀﬁﬂﬃﬄﬅﬆﬓﬔﬕﬖﬗ"
MANY_IN_LOWER_CASE = "İ"

UNIT = f"CAST(0.{'1'.zfill(DIGITS)} AS {FRACTION})"


class DuckDB(Dialect):
    name = "duckdb"
    text_type = "VARCHAR"
    macros = True

    def string(self, text: str) -> str:
        if "\0" in text:  # DuckDB's parser takes this character for the end of the statement
            return f"({' || chr(0) || '.join(map(self.string, text.split(chr(0))))})"
        quoted = "'" + text.replace("'", "''") + "'"
        if "\n" not in text and "\r" not in text:
            return quoted
        # Statements are indented when they are nested, so a literal must not contain a line feed.
        return "E" + quoted.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")

    # --- text -----------------------------------------------------------------------------------

    def starts_with(self, text: str, prefix: str) -> str:
        return f"starts_with({text}, {prefix})"

    def ends_with(self, text: str, suffix: str) -> str:
        return f"ends_with({text}, {suffix})"

    def after_last(self, text: str, mark: str) -> str:
        return f"split_part({text}, {self.string(mark)}, -1)"

    def before_first(self, text: str, mark: str) -> str:
        return f"split_part({text}, {self.string(mark)}, 1)"

    def trim_end(self, text: str, character: str) -> str:
        return f"rtrim({text}, {self.string(character)})"

    def upper(self, text: str) -> str:
        replaced = {letter: letter.upper() for letter in MANY_IN_UPPER_CASE}
        return f"upper({self._spelled_out(text, replaced)})"

    def lower(self, text: str) -> str:
        return f"lower({self._spelled_out(text, {letter: letter.lower() for letter in MANY_IN_LOWER_CASE})})"

    def _spelled_out(self, text: str, mapping: dict[str, str]) -> str:
        """The text with rare letters replaced by the letters that they map to.

        DuckDB changes the case of each letter to a single letter, so letters that map to several are replaced
        before; texts without such letters are left alone.
        """
        rare = self.matches(text, self.string(f"[{''.join(mapping)}]"))
        replaced = text
        for old, new in mapping.items():
            replaced = self.replace(replaced, old, new)
        return f"CASE WHEN {rare} THEN {replaced} ELSE {text} END"

    def encode_for_uri(self, text: str) -> str:
        return f"url_encode({text})"

    def encode_for_iri(self, text: str) -> str:
        each = f"CASE WHEN {self.matches_all('c', UNRESERVED)} THEN c ELSE url_encode(c) END"
        encoded = f"array_to_string(list_transform(string_split({text}, ''), lambda c: {each}), '')"
        return f"CASE WHEN {self.matches_all(text, UNRESERVED + '*')} THEN {text} ELSE {encoded} END"

    # --- regular expressions ----------------------------------------------------------------------

    def matches(self, text: str, pattern: str) -> str:
        return f"regexp_matches({text}, {pattern})"

    def replace_all(self, text: str, pattern: str, replacement: str) -> str:
        return f"regexp_replace({text}, {pattern}, {replacement}, 'g')"

    def valid_pattern(self, pattern: str, use: str) -> str:
        return f"TRY({use})"

    # --- numbers ----------------------------------------------------------------------------------

    def to_double(self, exact: str) -> str:
        # A direct cast divides two rounded doubles; a cast through text gives the nearest double.
        return f"CAST(CAST({exact} AS VARCHAR) AS DOUBLE)"

    def scientific(self, double: str, digits: int) -> str:
        return f"printf('%.{digits}e', {double})"

    def exact_text(self, exact: str) -> str:
        return f"rtrim(rtrim(CAST({exact} AS VARCHAR), '0'), '.')"

    # Up to DuckDB 1.5, a cast of text to a DECIMAL of 128 bits takes 10 microseconds, and a change of its
    # scale takes 4. So numbers of few digits are read as BIGINT, or as DECIMAL of 64 bits.

    def read_whole(self, text: str) -> str:
        return f"COALESCE(CAST(try_cast({text} AS BIGINT) AS {EXACT}), try_cast({text} AS {EXACT}))"

    def read_decimal(self, text: str) -> str:
        whole = f"CAST(CAST(split_part({text}, '.', 1) AS BIGINT) AS {EXACT})"
        fraction = f"CAST('0.' || split_part({text}, '.', 2) AS {FRACTION})"
        return (
            f"CASE WHEN {self.matches_all(text, '[+-]?[0-9]{0,9}([.][0-9]{0,9})?')}"
            f" THEN CAST(CAST({text} AS DECIMAL(18,9)) AS {EXACT})"
            f" WHEN {self.matches_all(text, '[+]?[0-9]{1,18}[.][0-9]{1,18}')} THEN {whole} + {fraction}"
            f" WHEN {self.matches_all(text, '-[0-9]{1,18}[.][0-9]{1,18}')} THEN {whole} - {fraction}"
            f" ELSE try_cast({text} AS {EXACT}) END"
        )

    def whole_text(self, exact: str) -> str:
        return self.before_first(f"CAST({exact} AS VARCHAR)", ".")

    def whole(self, exact: str) -> str:
        return self.whole_part(exact)

    def whole_part(self, exact: str) -> str:
        return f"CAST(trunc({exact}) AS {WHOLE})"

    def _scaled(self, units: str) -> str:
        """An integer number of units of 1E-18 as a decimal: the product only moves the decimal point."""
        return f"try_cast(CAST({units} AS DECIMAL(38,0)) * {UNIT} AS {EXACT})"

    def divide_whole(self, left: str, right: str) -> str:
        above, below = f"CAST(trunc({left}) AS HUGEINT)", f"CAST(trunc({right}) AS HUGEINT)"
        return self._scaled(f"({above} * {10**DIGITS} // NULLIF({below}, 0))")

    def dividend(self, exact: str) -> str:
        return f"CAST(replace(CAST({exact} AS VARCHAR), '.', '') AS HUGEINT)"

    def divide_exact(self, left: str, right: str) -> str:
        # Both sides are integers in units of 1E-18; the quotient is computed if a HUGEINT can hold the
        # dividend.
        one, half = 10**DIGITS, 10 ** (DIGITS // 2)
        return self._scaled(
            f"CASE WHEN {right} = 0 THEN NULL"
            f" WHEN {right} % {one} = 0 THEN {left} // ({right} // {one})"
            f" WHEN {right} % {half} = 0 AND abs({left}) < {10**28}"
            f" THEN {left} * {half} // ({right} // {half})"
            f" WHEN abs({left}) < {10**19} THEN {left} * {one} // {right} END"
        )

    def whole_quotient(self, above: str, below: int) -> str:
        return f"({above} // {below})"

    def floor_exact(self, exact: str) -> str:
        return f"try_cast(floor({exact}) AS {EXACT})"

    def floor_double(self, double: str) -> str:
        return f"floor({double})"

    def divide_double(self, left: str, right: str) -> str:
        return f"({left} / {right})"

    def random(self) -> str:
        return "random()"

    # --- time, hashes, identity -------------------------------------------------------------------

    def micros(self, text: str) -> str:
        return f"epoch_us(try_cast({text} AS TIMESTAMPTZ))"

    def moment_text(self, micros: str) -> str:
        return f"strftime(make_timestamp({micros}), '%Y-%m-%dT%H:%M:%S.%f')"

    def months_later(self, day: str, months: str) -> str:
        epoch = "DATE '1970-01-01'"
        return f"(CAST({epoch} + CAST({day} AS INTEGER) + to_months({months}) AS DATE) - {epoch})"

    def statement_time(self) -> str:
        return "strftime(make_timestamp(epoch_us(now())), '%Y-%m-%dT%H:%M:%S.%fZ')"

    def digest(self, algorithm: str, text: str) -> str:
        # DuckDB has neither SHA-384 nor SHA-512: `rheos.sql.functions.hashes.register` adds them.
        name = f"rheos_{algorithm.lower()}" if algorithm in ("SHA384", "SHA512") else algorithm.lower()
        return f"{name}({text})"

    # --- aggregates -------------------------------------------------------------------------------

    def first_by(self, value: str, keys: Sequence[str], descending: bool) -> str:
        return f"{'arg_max' if descending else 'arg_min'}({value}, row({', '.join(keys)}))"

    def struct(self, fields: Mapping[str, str]) -> str:
        return "{" + ", ".join(f"'{name}': {sql}" for name, sql in fields.items()) + "}"

    def gather(self, value: str) -> str:
        return f"list({value})"

    def gathered(self, lists: str, only: str) -> str:
        return f"list_sort(flatten(list({lists}){only}))"

    def gathered_total(self, lists: str, only: str) -> str:
        return f"list_sum({self.gathered(lists, only)})"

    def gathered_texts(self, lists: str, only: str, field: str, separator: str) -> str:
        texts = f"list_transform({self.gathered(lists, only)}, lambda each: each.{field})"
        return f"array_to_string({texts}, {self.string(separator)})"

    def join_texts(self, text: str, separator: str, order: str) -> str:
        return f"string_agg({text}, {self.string(separator)} ORDER BY {order})"

    # --- names ------------------------------------------------------------------------------------

    def let(self, name: str, value: str, body: str) -> str:
        return f"list_transform([{value}], lambda {name}: {body})[1]"

    # --- relations --------------------------------------------------------------------------------

    semi_join = "SEMI JOIN"
    anti_join = "ANTI JOIN"
    filters_windows = True

    def moment(self, micros: str) -> str:
        return f"strftime(make_timestamp({micros}), '\"%Y-%m-%dT%H:%M:%S.%fZ\"^^<{DATE_TIME}>')"

    def broadcast(self, aliases: Sequence[str]) -> str:
        return ""

    def row_id(self) -> str:
        return "row_number() OVER ()"

    def counted(self, item: str, start: str, end: str, alias: str, column: str) -> str:
        return f"{item}, unnest(range({start}, {end})) AS {alias}({column})"

    def far_apart(self, columns: Sequence[str]) -> str:
        return f"CAST(hash({', '.join(columns)}) AS HUGEINT) * {2**62}"

    def each(self, values: Sequence[str]) -> str:
        return f"unnest([{', '.join(values)}])"

    def closure(self, closure: Closure) -> str:
        onto = all_of(["edges.a = reached.b", same("edges", "reached", closure.keys)])
        columns = ", ".join((*closure.keys, "a", "b"))
        first = f"SELECT {columns} FROM edges"
        if closure.seeds is not None:
            first += f" SEMI JOIN seeds USING ({', '.join((*closure.keys, 'a'))})"
        onward = ", ".join(f"reached.{column}" for column in (*closure.keys, "a"))
        seeds = "" if closure.seeds is None else f"seeds AS (\n{indent(closure.seeds, '  ')}\n),\n"
        return (
            f"WITH RECURSIVE edges AS (\n{indent(closure.edges, '  ')}\n),\n"
            f"{seeds}reached AS (\n"
            f"  {first}\n"
            "  UNION\n"
            f"  SELECT {onward}, edges.b FROM reached JOIN edges ON {onto}\n"
            f")\nSELECT {columns} FROM reached"
        )

    def unfold(self, rows: Sequence[Sequence[str]], columns: Sequence[str], source: str) -> str:
        structs = (self.struct(dict(zip(columns, row, strict=True))) for row in rows)
        listed = ",\n  ".join(structs)
        return f"SELECT unnest([\n  {listed}\n], recursive := true)\nFROM {source}"


DUCKDB = DuckDB()
