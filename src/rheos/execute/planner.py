"""A script that plans one statement in DuckDB: tables and the statement come in as JSON on standard input.

It imports nothing of rheos, so that it starts quickly. The process that started it may kill it at any time.
"""

from __future__ import annotations

import json
import sys

import duckdb


def main() -> int:
    asked = json.load(sys.stdin)
    connection = duckdb.connect()
    try:
        for definition in (*asked["macros"], *asked["tables"], *asked["views"]):
            connection.execute(definition)
        if "rheos_sha" in asked["sql"]:
            for name in ("rheos_sha384", "rheos_sha512"):
                connection.create_function(name, lambda text: text, ["VARCHAR"], "VARCHAR")
        connection.execute(f"SET disabled_optimizers = '{asked['without']}'")
        connection.execute(f"PREPARE large AS {asked['sql']}")
    except duckdb.Error as error:
        print((str(error).splitlines() or [type(error).__name__])[0])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
