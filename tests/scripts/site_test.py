#!/usr/bin/env python3
"""The documents as a site: it can be made, its links lead somewhere, and it loads nothing from a network.

usage: site_test.py [unittest arguments]   MULTICARD_SOURCE is the tree. Ends with 77 where MkDocs is not installed.
"""
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

SOURCE = pathlib.Path(os.environ.get("MULTICARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href"}  # with the page, as links are not
PREFORMATTED = re.compile(r"<pre.*?</pre>", re.S)
UNRENDERED = re.compile(r"^(?:<p>)?(?:[-*] |\d+\. |\|[^\n]*\|$|#+ )[^\n]*", re.M)


def build(root, folder):
    return subprocess.run([root / "scripts/docs.sh", "-o", folder], capture_output=True, text=True, check=False)


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids.add(values.get("id"))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif values.get(LOADED.get(tag)):
            self.loads.append(values[LOADED[tag]])


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="multicard-site.")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name, "site")
        built = build(SOURCE, cls.folder)
        if built.returncode == 77:
            print(built.stderr, end="")
            sys.exit(77)
        if built.returncode:
            raise AssertionError(f"scripts/docs.sh ended with {built.returncode}:\n{built.stderr}")
        cls.pages = {path: Page(path) for path in sorted(cls.folder.rglob("*.html"))}

    def test_has_a_page_for_each_document(self):
        for document in [*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md")]:
            name = "index" if document == SOURCE / "README.md" else document.relative_to(SOURCE).with_suffix("")
            self.assertIn(self.folder / f"{name}.html", self.pages)

    def test_links_lead_to_pages_and_places_that_exist(self):
        for path, page in self.pages.items():
            if path.name == "404.html":  # its links begin at the root of a server
                continue
            for link in page.links:
                parts = urllib.parse.urlsplit(link)
                if parts.scheme:
                    continue
                target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
                self.assertTrue(target.exists(), f"{path}: {link}")
                anchor = urllib.parse.unquote(parts.fragment)
                if anchor and target in self.pages:
                    self.assertIn(anchor, self.pages[target].ids, f"{path}: {link}")

    def test_loads_nothing_from_a_network(self):
        for path, page in self.pages.items():
            for address in page.loads:
                self.assertNotRegex(address, r"^(?:\w+:)?//", path)
        self.assertIn("checkpoint", (self.folder / "search/search_index.js").read_text(encoding="utf-8"))

    def test_shows_no_lists_and_tables_as_text(self):
        for path, page in self.pages.items():
            found = UNRENDERED.search(PREFORMATTED.sub("", page.text))
            self.assertIsNone(found, f"{path}: {found and found[0]} (a blank line is missing above?)")


class BrokenTree(unittest.TestCase):
    def test_is_refused_with_the_links_that_lead_nowhere(self):
        with tempfile.TemporaryDirectory(prefix="multicard-site.") as scratch:
            root = pathlib.Path(scratch, "tree")
            shutil.copytree(SOURCE, root, ignore=lambda _, names: [n for n in names if n in (".git", "build", "tests")])
            with (root / "docs/hdf5.md").open("a", encoding="utf-8") as page:
                page.write("\n[one](nowhere.md), [two](decks.md#nowhere)\n")
            (root / "docs/unlisted.md").write_text("# Unlisted\n", encoding="utf-8")
            built = build(root, pathlib.Path(scratch, "site"))
        self.assertEqual(built.returncode, 1, built.stderr)
        for name in ("nowhere.md", "#nowhere", "docs/unlisted.md"):
            self.assertIn(name, built.stderr)


if __name__ == "__main__":
    unittest.main()
