#!/usr/bin/env python3
"""What programs read of multicard-post: JSON by its schemas (postproc/schema), columns of axes, what is filtered.

usage: schema_test.py [CLASS ...]   MULTICARD_SOURCE is the tree, MULTICARD_BIN the folder of the programs. Ends with 77
where no Python has jsonschema (python3-jsonschema, scripts/setup.sh --test).
"""
import csv
import gzip
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    PYTHON = "/usr/bin/python3"  # apt's jsonschema is for this one
    if os.path.exists(PYTHON) and not os.path.samefile(sys.executable, PYTHON) and \
            subprocess.run([PYTHON, "-c", "import jsonschema"], capture_output=True, check=False).returncode == 0:
        os.execv(PYTHON, [PYTHON, *sys.argv])
    print("SKIPPED: no Python here has jsonschema: install python3-jsonschema (scripts/setup.sh --test)")
    sys.exit(77)

SOURCE = pathlib.Path(os.environ.get("MULTICARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
POST, MULTICARD = (pathlib.Path(os.environ["MULTICARD_BIN"]) / name for name in ("multicard-post", "multicard"))
DATA = SOURCE / "tests/data/reports"
REPORTS = sorted(path.name.split(".")[0] for path in DATA.glob("*.h5.gz"))
PLANS = sorted(path.name.split(".")[0] for path in DATA.glob("*.json.gz"))


def schema(name):
    content = json.loads((SOURCE / f"postproc/schema/{name}.schema.json").read_text(encoding="utf-8"))
    kind = jsonschema.Draft202012Validator
    kind.check_schema(content)
    return kind(content)


def strings_of(value):
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings_of(one)


def no_constant(text):
    raise ValueError(f"{text} is not JSON")


class Stored(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="multicard-schema.")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        for path in (*DATA.glob("*.h5.gz"), *DATA.glob("*.json.gz")):
            (cls.folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))

    def post(self, *words):
        done = subprocess.run([POST, *words], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check(self, validator, document):
        errors = [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(document)]
        self.assertEqual(errors[:5], [])
        for text in strings_of(document):
            self.assertNotIn(text.strip().lower(), ("nan", "inf", "-inf", "infinity", "-infinity"))


class Json(Stored):
    def test_the_summary_of_every_stored_report_fits_its_schema(self):
        validator = schema("summary")
        self.assertGreaterEqual(len(REPORTS), 14)
        for name in REPORTS:
            with self.subTest(report=name):
                printed = self.post(f"{name}.h5", "--json")
                self.check(validator, json.loads(printed, parse_constant=no_constant))

    def test_the_summaries_of_plans_and_replays_fit_it_too(self):
        validator = schema("summary")
        self.assertEqual(PLANS, ["plan", "plan_sizes", "replay"])
        for name in PLANS:
            with self.subTest(plan=name):
                printed = self.post(f"{name}.json", "--json")
                self.check(validator, json.loads(printed, parse_constant=no_constant))

    def plan(self, gpus, table):
        """Of two tasks, the second with this table, a line for each number of GPUs."""
        (self.folder / "free.csv").write_text("gpus,rate,rate_low,rate_high\n1,10,9,11\n2,19,17,21\n")
        (self.folder / "other.csv").write_text(table)
        deck = self.folder / "plan_deck.yaml"
        deck.write_text(f"machine: {{gpus: {gpus}}}\nobjective: makespan\ntasks:\n"
                        "  - {name: free, table: free.csv, work: 1000}\n"
                        "  - {name: other, table: other.csv, work: 10}\n")
        done = subprocess.run([MULTICARD, "plan", deck.name, "--json"], cwd=self.folder, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "lines.json").write_text(done.stdout)
        return [json.loads(line, parse_constant=no_constant) for line in done.stdout.splitlines()]

    def test_lines_of_plans_fit_theirs_and_say_why_there_is_no_plan(self):
        validator = schema("plan")
        lines = self.plan([2, 8], "gpus,rate\n4,1\n")
        for line in lines:
            self.check(validator, line)
        self.assertEqual(lines[0]["obstacle"], "no rate of task other can be used")
        self.assertIsNone(lines[0]["value"])
        self.assertFalse(validator.is_valid({**lines[0], "obstacle": ""}))
        self.assertNotIn("obstacle", lines[1])
        summary = json.loads(self.post("lines.json", "--json"))
        self.check(schema("summary"), summary)
        self.assertEqual(summary["plans"][0]["obstacle"], lines[0]["obstacle"])
        self.post("lines.json", "-o", "plan")
        self.assertIn("No plan for 2 GPUs: no rate of task other can be used.",
                      (self.folder / "plan/report.html").read_text(encoding="utf-8"))
        for name in ("plan", "plan_sizes"):
            for line in (self.folder / f"{name}.json").read_text().splitlines():
                self.check(validator, json.loads(line))

    def test_comparisons_fit_theirs(self):
        validator = schema("comparison")
        for a, b in (("strong", "more_ranks"), ("profile_cpu", "profile_gpu"), ("evaluation", "evaluation"),
                     ("options", "failed"), ("methods", "methods"), ("share", "share")):
            with self.subTest(a=a, b=b):
                printed = self.post(f"{a}.h5", f"{b}.h5", "--compare", "--json")
                self.check(validator, json.loads(printed, parse_constant=no_constant))

    def test_schemas_refuse_what_is_not_a_number(self):
        validator = schema("summary")
        for change in ("NaN", "1.5", True, [1]):
            summary = json.loads(self.post("strong.h5", "--json"))
            summary["studies"][0]["runs"][0]["rate_per_s"]["value"] = change
            self.assertFalse(validator.is_valid(summary), change)
        del summary["studies"][0]["runs"][0]["rate_per_s"]
        self.assertFalse(validator.is_valid(summary))


class Csv(Stored):
    def table(self, kind, name):
        return list(csv.DictReader(io.StringIO(self.post(f"{name}.h5", f"--csv={kind}"))))

    def test_a_folder_that_it_would_ignore_is_refused(self):
        for output in ("--csv", "--csv=cells", "--json"):
            done = subprocess.run([POST, "strong.h5", output, "-o", "ignored"], cwd=self.folder, capture_output=True,
                                  text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn("-o", done.stderr)
            self.assertFalse((self.folder / "ignored").exists())

    def test_every_axis_has_a_column(self):
        for name in REPORTS:
            summary = json.loads(self.post(f"{name}.h5", "--json"))
            if not summary["studies"]:
                continue
            keys = {axis["key"] for study in summary["studies"] for axis in study["axes"]}
            for kind in ("cells", "runs"):
                with self.subTest(report=name, table=kind):
                    rows = self.table(kind, name)
                    self.assertEqual({column[5:] for column in rows[0] if column.startswith("axis.")}, keys)

    def test_columns_of_axes_have_the_values_of_the_runs(self):
        summary = json.loads(self.post("options.h5", "--json"))
        runs = {run["name"]: run for run in summary["studies"][0]["runs"]}
        for row in self.table("runs", "options"):
            for axis in summary["studies"][0]["axes"]:
                self.assertEqual(row["axis." + axis["key"]], runs[row["run"]]["settings"][axis["key"]])
        cells = self.table("cells", "options")
        places = {tuple(row[column] for column in row if column.startswith("axis.")) + (row["ranks"],) for row in cells}
        self.assertEqual(len(places), len(cells))  # they identify a line


class Published(Stored):
    ADDRESS = "192.0.2.2"  # in an environment variable of every stored file

    def test_reports_have_no_addresses(self):
        self.post("strong.h5", "-o", "report")
        page = (self.folder / "report/report.html").read_text(encoding="utf-8")
        self.assertIn("tcp://[address]:", page)
        for path in (self.folder / "report").glob("*"):
            self.assertNotIn(self.ADDRESS, path.read_text(encoding="utf-8"), path)

    def test_on_request_reports_have_all(self):
        self.post("strong.h5", "-o", "full", "--full-provenance")
        self.assertIn(self.ADDRESS, (self.folder / "full/report.html").read_text(encoding="utf-8"))

    def test_pages_of_plans_are_filtered(self):
        environment = {**os.environ, "HOME": str(self.folder)}
        for more, path in (([], "~/plan.json"), (["--full-provenance"], f"{self.folder}/plan.json")):
            subprocess.run([POST, self.folder / "plan.json", "-o", "planned", *more], env=environment, check=True,
                           cwd=self.folder, capture_output=True)
            page = (self.folder / "planned/report.html").read_text(encoding="utf-8")
            self.assertIn(path, page)
            self.assertEqual(str(self.folder) in page, bool(more))

    def test_home_folders_are_a_tilde(self):
        environment = {**os.environ, "HOME": str(self.folder)}
        words = [POST, self.folder / "strong.h5", "--json"]
        for more, path in (([], "~/strong.h5"), (["--full-provenance"], f"{self.folder}/strong.h5")):
            done = subprocess.run([*words, *more], env=environment, capture_output=True, text=True, check=True)
            self.assertEqual(json.loads(done.stdout)["sources"][0]["path"], path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
