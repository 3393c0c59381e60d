# SPDX-License-Identifier: Apache-2.0
"""The pictures and reports of the command, for notebooks."""

from __future__ import annotations

import csv
import dataclasses
import functools
import html
import json
import pathlib
import re
import tempfile
from typing import Any, Dict, List, Mapping, Sequence

from ._library import run_command


@dataclasses.dataclass(frozen=True)
class Picture:
    """An SVG picture, which notebooks show."""

    svg: str = dataclasses.field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str) -> None:
        """Writes the picture to a file."""
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")


@dataclasses.dataclass(frozen=True)
class Report:
    """The page that `-o answer.html` writes, light or dark as the browser is; notebooks show it."""

    page: str = dataclasses.field(repr=False)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" '
            'style="width: 100%; height: 40em; border: 0"></iframe>'
        )

    def save(self, path: str) -> None:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self.page, encoding="utf-8")


def written_picture(name: str, options: Mapping[str, Any], option: str = "output") -> Picture:
    """The picture that a command writes to the file that an option names."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "picture.svg"
        run_command(name, {**options, option: str(path)})
        text = path.read_text(encoding="utf-8")
        return Picture(text[text.index("<svg") :])  # without the line that names XML


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def draw(rows: Sequence[Mapping[str, Any]], figure: Mapping[str, Any]) -> Picture:
    """A figure of `plot` over the rows of a table."""
    keys: Dict[str, None] = {key: None for row in rows for key in row}
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "rows.csv"
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(keys))
            writer.writeheader()
            writer.writerows(rows)
        document = pathlib.Path(folder) / "figure.json"
        asked = {"table": str(table), "figure": dict(figure)}
        document.write_text(json.dumps(asked), encoding="utf-8")
        return written_picture("plot", {"document": str(document)})


def draw_points(rows: Sequence[Mapping[str, Any]], x: str, y: str) -> Picture:
    """A column over another, a dot per row; rows without a number in both are left out."""
    points = [{"x": r[x], "y": r[y]} for r in rows if _is_number(r.get(x)) and _is_number(r.get(y))]
    if not points:
        raise LookupError(f"no row has a number in both {x!r} and {y!r}")

    def axis(name: str, title: str) -> Dict[str, Any]:
        values = [point[name] for point in points]
        return {"value": name, "title": title, "log": 0 < 20 * min(values) < max(values)}

    return draw(points, {"kind": "scatter", "x": axis("x", x), "y": axis("y", y)})


def draw_parts(parts: Mapping[str, float], total: float, title: str) -> Picture:
    """The parts of a time as bars, the largest first."""
    shown = sorted(parts.items(), key=lambda part: -part[1])
    rows = [
        {"part": name.replace("_", " "), "seconds": value, "share": 100 * value / total}
        for name, value in shown
        if value > 0.001 * total
    ]
    share = {"value": "share", "title": "share of the time, %", "zero": True, "decimals": 1}
    return draw(rows, {"kind": "bar", "title": title, "x": {"value": "part", "title": ""}, "y": share,
                       "labels": True, "width": "two columns"})


@functools.lru_cache(maxsize=1)
def _around_answer() -> List[str]:
    """The page of a report before and after its answer, without the question that it is of."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.html"
        asked = {"system": "h100-sxm", "op": "all_reduce", "bytes": 1024}
        run_command("comm", {**asked, "output": str(path)})
        page = path.read_text(encoding="utf-8")
    start = page.index('id="answer">') + len('id="answer">')
    after = page[page.index("</script>", start):]
    return [page[:start], re.sub('(?s)(id="question">).*?(?=</script>)', r"\1{}", after, count=1)]


def report_of(answer: Mapping[str, Any]) -> Report:
    """The report of a JSON answer."""
    before, after = _around_answer()
    return Report(before + json.dumps(answer).replace("<", "\\u003c") + after)
