"""Sources of a server: the check of Kafka topics. Spark reads these, and all streams wait for Spark."""

from __future__ import annotations

from rheos.engine import Engine
from rheos.errors import EnvironmentFault, RheosError
from rheos.server.problems import Problem


def is_topic(source: str | None) -> bool:
    return source is not None and source.lower().startswith("kafka://")


def check_topic(engine: Engine, source: str | None) -> None:
    """Refuse a topic that cannot be read, because all streams would wait for it."""
    if source is None or not is_topic(source):
        return
    try:
        engine.streaming.check_topic(source)
    except EnvironmentFault as error:
        hint = "this server was started without Kafka; kafka = true in its configuration loads it"
        raise Problem(409, hint, str(error)) from None
    except RheosError as error:
        raise Problem(502, "The source cannot be read", str(error)) from None
