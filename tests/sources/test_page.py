"""docs/sources.md: every line to copy names a source that is understood, and the page knows all of them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from rheos.cli.options import named_streams
from rheos.sources import kafka
from rheos.sources.opening import LIVE_SCHEMES, is_live, open_source

PAGE = Path(__file__).parents[2] / "docs" / "sources.md"


def sources() -> list[str]:
    """What stands after --stream in the table."""
    commands = re.findall(r"^\| [^|]+ \| `(.*)` \|$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) > 10
    words = [shlex.split(command.replace("\\|", "|")) for command in commands if "--stream" in command]
    return [named_streams([found[found.index("--stream") + 1]])[0][1] for found in words]


@pytest.mark.parametrize("source", [source for source in sources() if is_live(source)])
def test_a_line_to_copy_is_understood(source: str, tmp_path: Path) -> None:
    assert open_source(source, "http://ex/s", tmp_path, follow=False) is not None


def test_the_page_knows_all_schemes_and_parameters() -> None:
    text = PAGE.read_text()
    for scheme in LIVE_SCHEMES:
        assert scheme in text
    for parameter in kafka.PARAMETERS:
        assert f"`{parameter}`" in text
