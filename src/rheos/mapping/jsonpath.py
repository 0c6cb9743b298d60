"""JSONPath: translates an expression of a mapping into the form that DuckDB understands.

Names, indexes and wildcards are understood: `$.a.b`, `$['a b']`, `$.a[0]`, `$.a[*]`, `$.*`; and a name alone.
Filters, slices and descendants are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"*\s]+)|\[(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]|\[(?P<index>[0-9]+)\]"""
    r"|(?P<any>\[\*\]|\.\*)"
)


@dataclass(frozen=True, slots=True)
class JsonPath:
    """The path as the user wrote it, and as DuckDB reads it; `many` if it can find several values."""

    text: str
    sql: str
    many: bool


def json_path(text: str) -> JsonPath:
    """The path of an expression; ValueError if it is not understood."""
    rest = text.strip()
    rest = rest.removeprefix("$") if rest.startswith(("$", "[")) else f".{rest}"
    steps, many, position = "$", False, 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if match is None:
            raise ValueError(f"the JSONPath {text!r} is not understood from {rest[position:]!r} on")
        if match["any"]:
            steps, many = steps + match["any"], True
        elif match["index"]:
            steps += f"[{match['index']}]"
        else:
            quoted = match["quoted"]
            name = match["name"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted[1:-1])
            steps += '."' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
        position = match.end()
    return JsonPath(text, steps, many)
