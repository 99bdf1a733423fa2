#!/usr/bin/env python3
"""scripts/study_claim.sh as it is called wrongly, and the page of what it measured (tests/data/reports/claim.jsonl.gz,
a quick run), whose numbers are computed again here. Standard library only.

usage: claim_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import csv
import gzip
import html
import json
import math
import os
import re
import statistics
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import POST, CommandTest

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
SCRIPT = SOURCE / "scripts/study_claim.sh"
STORED = SOURCE / "tests/data/reports/claim.jsonl.gz"
T = {2: 12.7062047364, 3: 4.30265272991, 4: 3.18244630528, 5: 2.7764451052}  # Student's, at 0.975, by values
WORDS = 600  # of paragraphs and sentences of the page, at most: four places in each sentence about sharing


def interval(values):
    """Of the geometric mean, by Student's t on logarithms."""
    if not 2 <= len(values) <= 5 or min(values) <= 0:
        return None
    logarithms = [math.log(value) for value in values]
    half = T[len(values)] * statistics.stdev(logarithms) / math.sqrt(len(values))
    return [math.exp(statistics.fmean(logarithms) + sign * half) for sign in (-1, 1)]


class ClaimPage(CommandTest):
    def setUp(self):
        super().setUp()
        path = Path(self.path("claim.jsonl"))
        path.write_bytes(gzip.decompress(STORED.read_bytes()))
        done = subprocess.run([POST, str(path), "-o", self.path("report")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.printed, self.folder = done.stdout, Path(self.path("report"))
        self.lines = [json.loads(line) for line in path.read_text().splitlines()]
        self.summary = json.loads((self.folder / "summary.json").read_text())

    def values(self, claim, name, **of):
        """{repeat: value} of a cell."""
        return {line["repeat"]: line["values"][name] for line in self.lines
                if line["claim"] == claim and all(line[key] == value for key, value in of.items())}

    def expect(self, found, values):
        """An estimate of the summary is the median of these values, with their interval."""
        self.assertAlmostEqual(found["value"], statistics.median(values), delta=1e-9 * abs(found["value"]))
        wanted = interval(values)
        if wanted:
            for end, number in zip(found["interval_95"], wanted):
                self.assertAlmostEqual(end / number, 1, delta=1e-6)

    def ratios(self, claim, name, place, task, variant, base):
        own, other = (self.values(claim, name, place=place, task=task, variant=one) for one in (variant, base))
        return [own[repeat] / other[repeat] for repeat in sorted(own) if repeat in other]

    def test_changes_of_the_iteration_time_are_medians_of_ratios_within_a_repeat(self):
        rows = self.summary["tables"]["iteration-changes"]
        places = {line["place"] for line in self.lines if line["claim"] == "E1"}
        self.assertEqual(len(rows), 6 * len(places))  # three baselines, three components
        for row in rows:
            for column, name in (("together_ratio", "together_s"), ("image_step_ratio", "image_s"),
                                 ("text_step_ratio", "text_s")):
                self.expect(row[column], self.ratios("E1", name, row["place"], "both", row["variant"], row["base"]))

    def test_the_title_says_what_the_intervals_say(self):
        title = html.unescape(re.search(r"<h1>(.*?)</h1>", (self.folder / "report.html").read_text()).group(1))
        self.assertTrue(self.printed.startswith(title.replace("\u00a0", " ")), self.printed)
        for row in self.summary["tables"]["iteration-changes"]:
            if (row["variant"], row["base"]) != ("share", "tuned"):
                continue
            values = self.ratios("E1", "together_s", row["place"], "both", "share", "tuned")
            change = 100 * (statistics.median(values) - 1)
            said = re.search(r"([−+]?[\d.]+) %% (\[[^]]*\] )?on %s" % re.escape(row["place"]), self.printed)
            self.assertAlmostEqual(float(said.group(1).replace("−", "-")), change, delta=0.51)
            reached = interval(values)
            wanted = "open" if reached is None else "reached" if reached[1] <= 0.68 else \
                "not reached" if reached[0] > 0.68 else "open"
            self.assertEqual(row["verdict"], wanted)

    def test_every_simulated_cell_is_printed_and_summed_up(self):
        with open(self.folder / "simulated.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        cells = [line for line in self.lines if line["claim"] == "simulation"]
        self.assertEqual(len(rows), len(cells))
        findings = {finding["id"]: finding["numbers"] for finding in self.summary["findings"]}
        for work in {line["variant"] for line in cells}:
            ratios = [line["values"]["together_s"] / line["values"]["equal_s"] for line in cells
                      if line["variant"] == work and line["values"].get("equal_s")]
            low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
            said = findings["simulation." + work]
            for name, value in (("equal_low", low), ("equal_median", middle), ("equal_high", high)):
                self.assertAlmostEqual(said[name], value - 1, places=9)
            self.assertEqual(said["reached"], sum(ratio <= 0.68 for ratio in ratios))

    def test_memory_and_communication_are_computed_from_the_lines(self):
        for row in self.summary["tables"]["memory-uses"]:
            of = {name: row[key] for name, key in (("place", "device"), ("task", "task"), ("variant", "variant"))}
            mean, capacity = self.values("E2", "mean_bytes", **of), self.values("E2", "capacity_bytes", **of)
            self.expect(row["utilisation"], [mean[repeat] / capacity[repeat] for repeat in sorted(mean)])
        for row in self.summary["tables"]["communication-costs"]:
            of = {name: row[name] for name in ("place", "task", "variant")}
            step, null = self.values("E3", "step_s", **of), self.values("E3", "null_s", **of)
            self.expect(row["exposed_s"], [step[repeat] - null[repeat] for repeat in sorted(step)])
            self.expect(row["bytes_a_sample"], list(self.values("E3", "counted_bytes", **of).values()))
            self.assertAlmostEqual(row["link_over_counted"]["value"], 1, delta=0.03)

    def test_the_page_is_short_and_has_what_was_left_out(self):
        page = (self.folder / "report.html").read_text()
        main = re.search(r"(?s)<main>(.*)</main>", page).group(1)
        texts = re.findall(r"(?s)<(?:p|li)>(.*?)</(?:p|li)>", main)
        words = html.unescape(re.sub(r"<[^>]+>", " ", " ".join(texts))).split()
        self.assertLessEqual(len(words), WORDS)
        for line in self.lines:
            if line["claim"] == "left out":
                self.assertIn(html.escape("left out: " + line["what"]), page)
        for name in ("claim", "claim-iteration", "claim-simulation", "claim-communication"):
            self.assertTrue((self.folder / (name + ".svg")).exists(), name)

    def test_options_for_results_files_are_refused(self):
        done = subprocess.run([POST, self.path("claim.jsonl"), "--csv"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is a study of a claim", done.stderr)


class ClaimScript(CommandTest):
    def script(self, *words, **environment):
        return subprocess.run([str(SCRIPT), *words], capture_output=True, text=True,
                              env={**os.environ, **environment})

    def test_help_and_wrong_words(self):
        done = self.script("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("usage: scripts/study_claim.sh [--quick]", done.stdout)
        for words in (("--slow",), ("-o",)):
            done = self.script(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn("see --help", done.stderr)

    def test_a_model_that_is_none_is_refused(self):
        done = self.script("--quick", "-o", self.path("out"), MODEL=self.path("none"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("is not a model folder", done.stderr)

    def test_cells_of_another_grid_are_not_continued(self):
        os.makedirs(self.path("out"))
        with open(self.path("out/claim.jsonl"), "w", encoding="utf-8") as file:
            file.write(json.dumps({"claim": "study", "grid": {}, "quick": True, "model": "tinystories-656K"}) + "\n")
        done = self.script("--quick", "-o", self.path("out"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("was measured by another grid", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
