#!/usr/bin/env python3
"""Report pages in a browser, checked by rules: text that overlaps, is cut off, too small or too faint, figures that are
empty or say nothing to a screen reader, pages that scroll sideways, and so on (rules.py).

usage: gallery_test.py [--full] [CLASS ...]
  Rules     a page that breaks every rule, and one that breaks none
  Reports   pages of the results files of tests/data/reports, in windows of 390 and 1440 px, in light and in dark: each
            once; with --full, or if MULTICARD_TEST_FULL is 1, each in all four

MULTICARD_BIN is the folder of the programs, MULTICARD_BUILD that of the build, where pages, pictures (PNG) and all
violations (violations.txt) are kept in tests/gallery/. Needs Chromium (scripts/setup.sh --test) and axe
(scripts/setup_peers.sh --gallery); without them it ends with 77."""

import dataclasses
import gzip
import os
import shutil
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from browser import Browser, find_browser
from rules import NARROW, RULES, WIDE, Inspector, applies, axe_script, save, summary

SKIPPED = 77
SOURCE = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
STORED = SOURCE / "tests/data/reports"
WIDTHS, THEMES = (NARROW, WIDE), ("light", "dark")
FULL = os.environ.get("MULTICARD_TEST_FULL") == "1"


@dataclasses.dataclass(frozen=True)
class Page:
    """A report: the results files that it is made of, and how it is rendered in the short form."""

    name: str
    files: tuple
    width: int
    theme: str
    is_scaling: bool = False
    suffix: str = ".h5"
    is_comparison: bool = False  # of the first file with the second


PAGES = (
    Page("strong", ("strong",), 390, "light", True),
    Page("speedup", ("speedup",), 1440, "light"),
    Page("weak", ("weak",), 1440, "dark", True),
    Page("more_ranks", ("more_ranks",), 390, "dark", True),
    Page("options", ("options",), 390, "light"),
    Page("methods", ("methods",), 1440, "light"),
    Page("training", ("training",), 390, "dark"),
    Page("before_after", ("before_after",), 390, "light"),
    Page("failed", ("failed",), 1440, "light"),
    Page("not_finite", ("not_finite",), 390, "dark"),
    Page("few_steps", ("few_steps",), 1440, "dark"),
    Page("share", ("share",), 390, "light"),
    Page("profile_cpu", ("profile_cpu",), 390, "dark"),
    Page("profile_gpu", ("profile_gpu",), 1440, "dark"),
    Page("evaluation", ("evaluation",), 390, "light"),
    Page("large", ("large",), 1440, "light"),
    Page("plan", ("plan",), 390, "dark", suffix=".json"),
    Page("plan_sizes", ("plan_sizes",), 1440, "light", suffix=".json"),
    Page("replay", ("replay",), 390, "light", suffix=".json"),
    Page("claim", ("claim",), 1440, "light", suffix=".jsonl"),
    Page("compare_sweeps", ("strong", "more_ranks"), 1440, "light", is_comparison=True),
    Page("compare_profiles", ("profile_cpu", "profile_gpu"), 390, "dark", is_comparison=True),
    Page("compare_work", ("training", "more_ranks"), 1440, "dark", is_comparison=True),
    Page("compare_evaluations", ("evaluation", "evaluation"), 390, "light", is_comparison=True),
    Page("two_studies", ("weak", "before_after", "evaluation"), 1440, "dark"),
)


class GalleryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(os.environ["MULTICARD_BUILD"], "tests/gallery")
        cls.folder.mkdir(parents=True, exist_ok=True)
        browser = Browser(find_browser())
        cls.addClassCleanup(browser.close)
        cls.inspector = Inspector(browser)

    def inspect(self, page, width, theme, name, **options):
        picture = self.folder / ("%s-%d-%s.png" % (name, width, theme))
        return self.inspector.inspect(name, page, width, theme, picture=picture, **options)


class Rules(GalleryTest):
    def test_a_page_that_breaks_every_rule_is_found_out(self):
        for theme in THEMES:
            by_width = {width: self.inspect(HERE / "broken.html", width, theme, "broken", is_scaling=True)
                        for width in WIDTHS}
            for rule in RULES:
                found = by_width[NARROW if applies(rule, NARROW) else WIDE]
                with self.subTest(rule, theme=theme):
                    of_rule = [violation for violation in found if violation.rule == rule]
                    expected = self.inspector.browser.evaluate(
                        "[...document.querySelectorAll('[data-breaks~=\"%s\"]')].map((e) => e.id)" % rule)
                    self.assertTrue(expected, "broken.html has nothing that breaks this rule")
                    for name in expected:
                        self.assertTrue(any("#" + name in violation.element for violation in of_rule),
                                        "%s was not found:\n%s" % (name, "\n".join(map(str, of_rule))))

    def test_a_page_that_breaks_no_rule_passes(self):
        for width in WIDTHS:
            for theme in THEMES:
                with self.subTest(width=width, theme=theme):
                    found = self.inspect(HERE / "sound.html", width, theme, "sound", is_scaling=True)
                    self.assertFalse(found, "\n".join(map(str, found)))


class Reports(GalleryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for packed in STORED.glob("*.gz"):
            name, suffix = Path(packed.stem).stem, Path(packed.stem).suffix
            (cls.folder / cls.results(name, suffix)).write_bytes(gzip.decompress(packed.read_bytes()))
        cls.program("large_run", "64", "30", cls.results("large"))

    @classmethod
    def results(cls, name, suffix=".h5"):
        """The path of a results file in the folder of the test, as long as some are: pages show it."""
        path = Path("results/image_study_on_two_nodes", name, "results" + suffix)
        (cls.folder / path).parent.mkdir(parents=True, exist_ok=True)
        return path

    @classmethod
    def program(cls, name, *words):
        done = subprocess.run([Path(os.environ["MULTICARD_BIN"], name), *words], cwd=cls.folder, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise AssertionError("%s ended with %d: %s" % (name, done.returncode, done.stderr))

    def report(self, page):
        target = self.folder / page.name
        shutil.rmtree(target, ignore_errors=True)
        files = [self.results(name, page.suffix) for name in page.files]
        self.program("multicard-post", *files, *(["--compare"] if page.is_comparison else []), "-o", target)
        return target / ("comparison.html" if page.is_comparison else "report.html")

    def test_every_page(self):
        violations = []
        with ThreadPoolExecutor(1) as others:  # makes the next page while the browser shows one
            for page, report in zip(PAGES, others.map(self.report, PAGES)):
                for width in WIDTHS if FULL else (page.width,):
                    for theme in THEMES if FULL else (page.theme,):
                        violations += self.inspect(report, width, theme, page.name, is_scaling=page.is_scaling)
        save(violations, self.folder / "violations.txt")
        if violations:
            self.fail("%d violations\n%s\nall of them are in %s" % (
                len(violations), summary(violations), self.folder / "violations.txt"))


def main():
    global FULL
    words = sys.argv[1:]
    if "--full" in words:
        words.remove("--full")
        FULL = True
    if not find_browser():
        print("SKIPPED: Chromium is not installed (scripts/setup.sh --test)")
        sys.exit(SKIPPED)
    if not axe_script():
        print("SKIPPED: axe is not installed (scripts/setup_peers.sh --gallery)")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v", *words])


if __name__ == "__main__":
    main()
