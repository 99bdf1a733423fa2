"""What multicard-post wrote: summary.json, the tables of report.html and the .csv files."""

import csv
import json
from html.parser import HTMLParser
from pathlib import Path


class _Tables(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tables, self._rows, self._cell, self._value = {}, None, None, None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "table" and "data-table" in attrs:
            self._rows = []
            self.tables.setdefault(attrs["data-table"], []).append(self._rows)
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in ("td", "th"):
            self._cell, self._value = "", attrs.get("data-v")

    def handle_endtag(self, tag):
        if tag == "table":
            self._rows = None
        elif tag in ("td", "th") and self._rows is not None:
            self._rows[-1].append((self._cell, None if self._value is None else float(self._value)))
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell += data


class Report:
    def __init__(self, folder):
        folder = Path(folder)
        self.summary = json.loads((folder / "summary.json").read_text())
        self.page = (folder / "report.html").read_text()
        self.folder = folder

    def tables(self, name):
        """The tables of this name, one a study: (head, rows), where a row is a dictionary of (text, value)."""
        reader = _Tables()
        reader.feed(self.page)
        out = []
        for head, *rows in reader.tables.get(name, []):
            names = [text for text, _ in head]
            out.append((names, [list(zip(names, row)) for row in rows]))
        return out

    def csv(self, name):
        with open(self.folder / name, newline="") as file:
            return list(csv.DictReader(file))
