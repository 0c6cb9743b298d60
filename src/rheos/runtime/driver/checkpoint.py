"""Whether a run may go on from a checkpoint: compares the record with the queries and streams of this run.

All queries and streams of the record must exist again: the kept elements, and how far each query was
evaluated, are of no use to other queries. A new query is like one that is registered while streams flow: it
sees only the elements that come later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rheos.errors import CheckpointError
from rheos.runtime.driver.registry import Registry
from rheos.runtime.state.progress import Progress


def go_on(
    record: Mapping[str, Any],
    registry: Registry,
    folder: str,
    warn: Callable[[str], None],
    *,
    hosted: bool = False,
) -> None:
    """Let each query see the elements that it would have seen in the run that left the record. In a `hosted`
    engine, a query that has changed counts as new, and one that no longer exists is forgotten; otherwise both
    are errors."""
    found = differences(record, registry)
    seen_after = record["seen_after"]
    if hosted:
        now = registry.described()["queries"]
        seen_after = {
            name: seen for name, seen in seen_after.items() if now.get(name) == record["queries"].get(name)
        }
    elif found:
        raise CheckpointError(
            f"the checkpoint {folder} was made with other queries or streams: {'; '.join(found)}. "
            "It goes on with the same ones; for others, take another folder"
        )
    progress = {stream: Progress.of_json(values) for stream, values in record["progress"].items()}
    for name in registry.go_on(seen_after, registry.now(progress, record["reached"])):
        if registry.handles[name].registered.operator.view:
            continue
        how = "was stopped in" if name in record["queries"] else "is new to"
        warn(f"the query {name} {how} the checkpoint {folder}: it sees what comes from now on")


def differences(record: Mapping[str, Any], registry: Registry) -> list[str]:
    """The queries and streams of the record that are missing or have changed, in words."""
    now = registry.described()["queries"]
    found = []
    for name, before in record["queries"].items():
        if name not in now:
            found.append(f"the query {name} is missing")
        elif now[name]["text"] != before["text"]:
            found.append(f"the text of the query {name} has changed")
        elif now[name]["base"] != before["base"]:
            found.append(f"the base IRI of the query {name} was {before['base']}")
        elif now[name]["entailment"] != before.get("entailment", "none"):
            found.append(f"the entailment of the query {name} was {before.get('entailment', 'none')}")
    missing = (stream for stream in record["streams"] if stream not in registry.sources)
    return found + [f"the stream {stream} is missing" for stream in missing]
