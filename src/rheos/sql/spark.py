"""The spelling of Spark SQL: what differs from `Dialect`. It works with ANSI mode on and off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rheos.algebra.literals import DATE_TIME, DIGITS
from rheos.sql.dialect import EXACT, UNRESERVED, WHOLE, Dialect

if TYPE_CHECKING:
    from rheos.sql.paths import Closure

# A quote inside a literal is written as its code, so that a literal ends at the next quote: see `conditions`.
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\u0027", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"})

DATE_TIME_PATTERN = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"


class Spark(Dialect):
    name = "spark"
    text_type = "STRING"

    def string(self, text: str) -> str:
        # Spark replaces ${name} anywhere in a statement, also inside a literal.
        return "'" + text.translate(_ESCAPES).replace("${", "\\u0024{") + "'"

    # --- text -----------------------------------------------------------------------------------

    def starts_with(self, text: str, prefix: str) -> str:
        return f"startswith({text}, {prefix})"

    def ends_with(self, text: str, suffix: str) -> str:
        return f"endswith({text}, {suffix})"

    def after_last(self, text: str, mark: str) -> str:
        return f"substring_index({text}, {self.string(mark)}, -1)"

    def before_first(self, text: str, mark: str) -> str:
        return f"substring_index({text}, {self.string(mark)}, 1)"

    def trim_end(self, text: str, character: str) -> str:
        return f"rtrim({self.string(character)}, {text})"

    def upper(self, text: str) -> str:
        return f"upper({text})"

    def lower(self, text: str) -> str:
        return f"lower({text})"

    def encode_for_uri(self, text: str) -> str:
        # Spark's url_encode() follows the rules of HTML forms.
        encoded = self.replace(f"url_encode({text})", "+", "%20")
        return self.replace(self.replace(encoded, "*", "%2A"), "%7E", "~")

    def encode_for_iri(self, text: str) -> str:
        each = f"CASE WHEN {self.matches_all('c', UNRESERVED)} THEN c ELSE {self.encode_for_uri('c')} END"
        encoded = f"array_join(transform(split({text}, ''), c -> {each}), '')"
        return f"CASE WHEN {self.matches_all(text, UNRESERVED + '*')} THEN {text} ELSE {encoded} END"

    # --- regular expressions ----------------------------------------------------------------------

    def matches(self, text: str, pattern: str) -> str:
        return f"regexp_like({text}, {pattern})"

    def replace_all(self, text: str, pattern: str, replacement: str) -> str:
        return f"regexp_replace({text}, {pattern}, {replacement})"

    def valid_pattern(self, pattern: str, use: str) -> str:
        compiled = f"try_reflect('java.util.regex.Pattern', 'compile', {pattern})"
        return f"CASE WHEN {compiled} IS NOT NULL THEN {use} END"

    # --- numbers ----------------------------------------------------------------------------------

    def to_double(self, exact: str) -> str:
        return f"CAST({exact} AS DOUBLE)"

    def scientific(self, double: str, digits: int) -> str:
        # Java writes `null` for NULL.
        return f"nullif(format_string('%.{digits}e', {double}), 'null')"

    def exact_text(self, exact: str) -> str:
        # A cast to STRING may give an exponent, depending on ANSI mode.
        return f"format_number({exact}, '0.{'#' * DIGITS}')"

    def whole_part(self, exact: str) -> str:
        return f"CAST(CASE WHEN {exact} < 0 THEN ceil({exact}) ELSE floor({exact}) END AS {WHOLE})"

    def divide_whole(self, left: str, right: str) -> str:
        return self._quotient(left, f"CAST(NULLIF({right}, 0) AS {WHOLE})")

    def dividend(self, exact: str) -> str:
        return exact

    def divide_exact(self, left: str, right: str) -> str:
        def shifted(exact: str, by: int, kind: str) -> str:
            return f"try_cast({self.exact_text(exact)} || 'E{by}' AS {kind})"

        half = DIGITS // 2
        return (
            f"CASE WHEN {right} = 0 THEN NULL"
            f" WHEN {right} = floor({right}) THEN {self._quotient(left, f'CAST({right} AS {WHOLE})')}"
            f" WHEN {shifted(right, half, EXACT)} = floor({shifted(right, half, EXACT)})"
            f" THEN {self._quotient(shifted(left, half, EXACT), shifted(right, half, WHOLE))}"
            f" ELSE {self._quotient(shifted(left, DIGITS, EXACT), shifted(right, DIGITS, WHOLE))} END"
        )

    def _quotient(self, above: str, below: str) -> str:
        """A quotient truncated to 18 digits. The remainder is subtracted first, so nothing is rounded."""
        unit = f"CAST('1E-{DIGITS}' AS DECIMAL({DIGITS},{DIGITS}))"
        return f"try_cast(({above} - {above} % ({below} * {unit})) / {below} AS {EXACT})"

    def whole_quotient(self, above: str, below: int) -> str:
        return f"({above} div {below})"

    def floor_exact(self, exact: str) -> str:
        return f"try_cast(floor({exact}) AS {EXACT})"

    def floor_double(self, double: str) -> str:
        # floor() gives a BIGINT: it would overflow, and it has no -0.
        whole = f"CAST(floor({double}) AS DOUBLE)"
        return (
            f"CASE WHEN abs({double}) < 4503599627370496D THEN"
            f" CASE WHEN {double} >= 0 AND {double} < 1 THEN {double} * 0D ELSE {whole} END"
            f" ELSE {double} END"
        )

    def divide_double(self, left: str, right: str) -> str:
        # Division by zero throws in ANSI mode and is NULL otherwise. power(0, -1) is an infinity, as needed.
        return f"coalesce(try_divide({left}, {right}), {left} * power({right}, -1D))"

    def random(self) -> str:
        return "rand()"

    # --- time, hashes, identity -------------------------------------------------------------------

    def micros(self, text: str) -> str:
        return f"unix_micros(try_cast({text} AS TIMESTAMP))"

    def moment_text(self, micros: str) -> str:
        utc = f"convert_timezone('UTC', CAST(timestamp_micros({micros}) AS TIMESTAMP_NTZ))"
        return f"date_format({utc}, {self.string(DATE_TIME_PATTERN)})"

    def months_later(self, day: str, months: str) -> str:
        return f"unix_date(add_months(date_from_unix_date(CAST({day} AS INT)), {months}))"

    def statement_time(self) -> str:
        pattern = self.string(DATE_TIME_PATTERN + "'Z'")
        utc = "convert_timezone('UTC', CAST(current_timestamp() AS TIMESTAMP_NTZ))"
        return f"date_format({utc}, {pattern})"

    def digest(self, algorithm: str, text: str) -> str:
        if algorithm in ("MD5", "SHA1"):
            return f"{algorithm.lower()}({text})"
        return f"sha2({text}, {algorithm.removeprefix('SHA')})"

    # --- aggregates -------------------------------------------------------------------------------

    def first_by(self, value: str, keys: Sequence[str], descending: bool) -> str:
        return f"{'max_by' if descending else 'min_by'}({value}, struct({', '.join(keys)}))"

    def struct(self, fields: Mapping[str, str]) -> str:
        return "struct(" + ", ".join(f"{sql} AS {name}" for name, sql in fields.items()) + ")"

    def gather(self, value: str) -> str:
        return f"collect_list({value})"

    def gathered(self, lists: str, only: str) -> str:
        return f"array_sort(flatten(collect_list({lists}){only}))"

    def gathered_total(self, lists: str, only: str) -> str:
        added = "(total, each) -> total + each"
        return f"aggregate({self.gathered(lists, only)}, CAST(0 AS DOUBLE), {added})"

    def gathered_texts(self, lists: str, only: str, field: str, separator: str) -> str:
        texts = f"transform({self.gathered(lists, only)}, each -> each.{field})"
        return f"array_join({texts}, {self.string(separator)})"

    def join_texts(self, text: str, separator: str, order: str) -> str:
        return f"listagg({text}, {self.string(separator)}) WITHIN GROUP (ORDER BY {order})"

    # --- names ------------------------------------------------------------------------------------

    def let(self, name: str, value: str, body: str) -> str:
        return f"transform(array({value}), {name} -> {body})[0]"

    # --- relations --------------------------------------------------------------------------------

    semi_join = "LEFT SEMI JOIN"
    anti_join = "LEFT ANTI JOIN"

    def moment(self, micros: str) -> str:
        end = self.string(f'Z"^^<{DATE_TIME}>')
        return f"concat('\"', {self.moment_text(micros)}, {end})"

    def broadcast(self, aliases: Sequence[str]) -> str:
        return f"/*+ BROADCAST({', '.join(aliases)}) */" if aliases else ""

    def row_id(self) -> str:
        return "monotonically_increasing_id()"

    def counted(self, item: str, start: str, end: str, alias: str, column: str) -> str:
        numbers = f"sequence(CAST({start} AS BIGINT), CAST({end} AS BIGINT) - 1)"
        return f"{item}\nLATERAL VIEW explode({numbers}) {alias} AS {column}"

    def far_apart(self, columns: Sequence[str]) -> str:
        return f"CAST(xxhash64({', '.join(columns)}) AS DECIMAL(38, 0)) * {2**62}"

    def each(self, values: Sequence[str]) -> str:
        return f"explode(array({', '.join(values)}))"

    def closure(self, closure: Closure) -> None:
        return None

    def unfold(self, rows: Sequence[Sequence[str]], columns: Sequence[str], source: str) -> str:
        structs = (self.struct(dict(zip(columns, row, strict=True))) for row in rows)
        listed = ",\n  ".join(structs)
        return f"SELECT inline(array(\n  {listed}\n))\nFROM {source}"


SPARK = Spark()
