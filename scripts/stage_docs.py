#!/usr/bin/env python3
"""Copies what the documentation site is made of into one folder: the documents, at their places in the source tree.

usage: scripts/stage_docs.py FOLDER [--root TREE]

Files and folders of the tree that documents link to, such as decks, become pages: a file as a block of code, a folder
as a list. A link that leads nowhere stays as it is, for mkdocs to refuse.
"""
import argparse
import os
import pathlib
import re
import shutil

LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]+)(?=[)#])")
LANGUAGES = {".yaml": "yaml", ".py": "python", ".sh": "bash", ".sbatch": "bash", ".json": "json"}


def title_of(path):
    """Of a document its heading, of a script or deck the first line of its comment."""
    first = [line for line in path.read_text(encoding="utf-8").splitlines()[:2] if not line.startswith("#!")]
    return re.sub(r"^(?:#+|\"\"\")\s*", "", first[0]) if first else ""


class Pages:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.staged = set()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def document(self, name):
        """Copies a document, with links to pages where it links to other files."""
        text = (self.root / name).read_text(encoding="utf-8")
        self.write(name, LINK.sub(lambda match: self.page_of(pathlib.PurePath(name).parent, match[1]), text))

    def page_of(self, place, link):
        """The link to the page of what a document in the folder `place` links to; makes the page if there is none."""
        name = os.path.normpath(place / link)
        target = self.root / name
        if name.startswith("..") or target.suffix in (".md", ".svg", ".png") or not target.exists():
            return link
        page = f"{name}/index.md" if target.is_dir() else f"{name}.md"
        if page not in self.staged:
            self.staged.add(page)
            self.write(page, self.list_of(name) if target.is_dir() else self.block_of(name))
        return os.path.relpath(page, place)

    def block_of(self, name):
        path = self.root / name
        return f"# {name}\n\n````{LANGUAGES.get(path.suffix, '')}\n{path.read_text(encoding='utf-8')}````\n"

    def list_of(self, name):
        files = sorted(path for path in (self.root / name).iterdir() if path.is_file())
        links = ((path, self.page_of(pathlib.PurePath(name), path.name)) for path in files)
        return f"# {name}\n\n" + "".join(f"- [{path.name}]({link}): {title_of(path)}\n" for path, link in links)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    pages = Pages(options.root, options.folder)
    for path in sorted([*options.root.glob("*.md"), *options.root.glob("docs/**/*.md")]):
        pages.document(str(path.relative_to(options.root)))
    for name in ("docs/figures", "docs/site"):
        shutil.copytree(options.root / name, options.folder / name)


if __name__ == "__main__":
    main()
