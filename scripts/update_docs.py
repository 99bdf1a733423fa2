#!/usr/bin/env python3
"""Updates the tables of deck keys in docs/decks.md from what the program says of its keys.

usage: scripts/update_docs.py [MULTICARD]

MULTICARD is the program, by default that of the release build.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- keys of (\w+) -->\n.*?<!-- end of keys -->\n", re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = ROOT / "build/release/bin/multicard"
    parser.add_argument("program", nargs="?", metavar="MULTICARD", default=str(default), help="the program")
    program = parser.parse_args().program
    printed = subprocess.run([program, "help", "keys", "--markdown"], check=True, capture_output=True, text=True).stdout
    tables = {match[1]: match[0] for match in BLOCK.finditer(printed)}
    document = ROOT / "docs/decks.md"
    text = document.read_text(encoding="utf-8")
    missing = sorted(set(tables) ^ set(BLOCK.findall(text)))
    if missing:
        sys.exit(f"docs/decks.md and the program differ in the sections {', '.join(missing)}: change the marks there")
    document.write_text(BLOCK.sub(lambda match: tables[match[1]], text), encoding="utf-8")
    print(f"docs/decks.md: {len(tables)} tables")


if __name__ == "__main__":
    main()
