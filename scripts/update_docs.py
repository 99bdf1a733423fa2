#!/usr/bin/env python3
"""Updates the tables of deck keys in docs/decks.md, and of others' formats, from what the program says of them; and the
picture of the modules from what CMake declares (scripts/draw_modules.py).

usage: scripts/update_docs.py [MULTICARD]

MULTICARD is the program, by default that of the release build.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- keys of ((?:format )?[\w-]+) -->\n.*?<!-- end of keys -->\n", re.DOTALL)
# By the word after `multicard help`.
DOCUMENTS = {"keys": ["docs/decks.md"], "formats": ["docs/data.md", "docs/models.md"]}


def update(path, tables):
    """Puts the tables into a document; returns the names of those that stand in it."""
    text = path.read_text(encoding="utf-8")
    names = {match[1] for match in BLOCK.finditer(text)}
    if unknown := sorted(names - set(tables)):
        sys.exit(f"{path.name} has tables that the program does not know: {', '.join(unknown)}. Change the marks there")
    path.write_text(BLOCK.sub(lambda match: tables[match[1]], text), encoding="utf-8")
    print(f"{path.name}: {len(names)} tables")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = ROOT / "build/release/bin/multicard"
    parser.add_argument("program", nargs="?", metavar="MULTICARD", default=str(default), help="the program")
    program = parser.parse_args().program
    subprocess.run([sys.executable, ROOT / "scripts/draw_modules.py"], check=True)
    for word, paths in DOCUMENTS.items():
        command = [program, "help", word, "--markdown"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        tables = {match[1]: match[0] for match in BLOCK.finditer(printed)}
        found = set().union(*(update(ROOT / path, tables) for path in paths))
        if missing := sorted(set(tables) - found):
            sys.exit(f"no document has the tables {', '.join(missing)}: add the marks to one of {', '.join(paths)}")


if __name__ == "__main__":
    main()
