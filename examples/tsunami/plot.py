"""Lines of NDJSON of `predicted-and-observed` come in on standard input; a picture in SVG goes out.

Above, the predicted pressure is a line and the observed one are dots. Below, their differences are bars, with
the threshold of 30 mm on both sides.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import datetime

WIDTH, LEFT, RIGHT = 760, 70, 20
PRESSURE, DIFFERENCE = (30, 200), (260, 400)  # top and bottom of the two parts
THRESHOLD = 30
INK, OBSERVED, CALM, ALARM = "#444", "#1f77b4", "#9aa7b1", "#d62728"

Scale = Callable[[float], float]


def scale(values: Sequence[float], first: float, last: float) -> Scale:
    """From the range of some values to that between two points of the picture."""
    low, high = min(values), max(values)
    return lambda value: first + (value - low) / ((high - low) or 1) * (last - first)


def text(x: float, y: float, content: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{content}</text>'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def picture(rows: Sequence[tuple[datetime, float, float]]) -> str:
    hours = [time.timestamp() / 3600 for time, _, _ in rows]
    across = scale(hours, LEFT + 15, WIDTH - RIGHT - 15)
    both = [value for _, *values in rows for value in values]
    up = scale(both, PRESSURE[1], PRESSURE[0])
    differences = [observed - predicted for _, predicted, observed in rows]
    most = max(THRESHOLD * 1.2, *map(abs, differences))
    bars = scale((-most, most), DIFFERENCE[1], DIFFERENCE[0])
    parts = [
        text(LEFT, PRESSURE[0] - 12, "pressure in mm of water: predicted (line), observed (dots)", "start"),
        text(LEFT, DIFFERENCE[0] - 12, "observed minus predicted, in mm; more than 30 is a tsunami", "start"),
    ]
    for value in (min(both), max(both)):
        parts.append(text(LEFT - 6, up(value) + 4, f"{value:,.0f}", "end"))
    for value in (-THRESHOLD, 0, THRESHOLD):
        style = f'stroke="{ALARM}" stroke-dasharray="4 3"' if value else f'stroke="{INK}"'
        parts.append(line(LEFT, bars(value), WIDTH - RIGHT, bars(value), style))
        parts.append(text(LEFT - 6, bars(value) + 4, str(value), "end"))
    course = " ".join(f"{across(hour):.1f},{up(row[1]):.1f}" for hour, row in zip(hours, rows, strict=True))
    parts.append(f'<polyline points="{course}" fill="none" stroke="{INK}"/>')
    for hour, (time, _, observed), difference in zip(hours, rows, differences, strict=True):
        x = across(hour)
        colour = ALARM if abs(difference) > THRESHOLD else CALM
        parts.append(f'<circle cx="{x:.1f}" cy="{up(observed):.1f}" r="3.5" fill="{OBSERVED}"/>')
        parts.append(line(x, bars(0), x, bars(difference), f'stroke="{colour}" stroke-width="14"'))
        parts.append(text(x, DIFFERENCE[1] + 18, f"{time:%H:%M}"))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {DIFFERENCE[1] + 30}"'
        f' font-family="sans-serif" font-size="11" fill="{INK}">'
    )
    background = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, background, *parts, "</svg>"]) + "\n"


def main() -> None:
    lines = [json.loads(line) for line in sys.stdin]
    rows = [
        (
            datetime.fromisoformat(line["at"]),
            float(line["row"]["predicted"]["value"]),
            float(line["row"]["observed"]["value"]),
        )
        for line in lines
        if line["query"] == "predicted-and-observed"
    ]
    sys.stdout.write(picture(rows))


if __name__ == "__main__":
    main()
