#!/usr/bin/env python3
"""Runs the shell blocks of a document as they are written there, one after the other, in one shell.

usage: run_blocks.py FILE.md          e.g. run_blocks.py README.md

A block counts when the line <!-- run --> stands above its fence. The shell starts at the top of a scratch copy of the
source tree, and the first command that fails ends the test with its place in the document. MULTICARD_BUILD names the
build folder whose programs are tested; cmake lines are taken as done by that build, after a look at the preset's name.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^<!-- run -->\n+```[a-z]*\n(.*?)^```$", re.M | re.S)

CMAKE_STAND_IN = """#!/bin/sh
# Stands for cmake in the blocks: the build under test has been made by these very commands.
case " $* " in
  *" --preset "*) ;;
  *) exec {cmake} "$@" ;;
esac
for word in "$@"; do
  case " {presets} " in *" $word "*) exit 0 ;; esac
done
echo "CMakePresets.json has no such preset: cmake $*" >&2
exit 1
"""


def blocks_of(path):
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match[1]


def copy_tree(target):
    """What git tracks or would track; everything but build results where there is no git."""
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(git, capture_output=True, check=False)
    if listed.returncode == 0:
        names = b"\0".join(name for name in listed.stdout.split(b"\0") if name and (ROOT / os.fsdecode(name)).is_file())
        pack = ["tar", "-C", str(ROOT), "--null", "-T", "-", "-c"]
    else:
        names = b""
        pack = ["tar", "-C", str(ROOT), *(f"--exclude=./{name}" for name in ("build", "data", "results")), "-c", "."]
    packed = subprocess.run(pack, input=names, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-C", str(target), "-x"], input=packed, check=True)


def add_cmake_stand_in(folder):
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["buildPresets"]
    names = " ".join(one["name"] for one in presets)
    folder.mkdir()
    cmake = folder / "cmake"
    cmake.write_text(CMAKE_STAND_IN.format(cmake=shutil.which("cmake"), presets=names), encoding="utf-8")
    cmake.chmod(0o755)


def script_of(name, blocks):
    lines = ["set -e -o pipefail"]
    for first_line, block in blocks:
        place = f"{name}:{first_line}"
        lines += [f"trap 'echo \"FAILED in the block at {place}: $BASH_COMMAND\" >&2' ERR", f"echo '== {place}'", block]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    document = ROOT / sys.argv[1]
    build = pathlib.Path(os.environ.get("MULTICARD_BUILD", ROOT / "build" / "release"))
    blocks = list(blocks_of(document))
    if not blocks:
        sys.exit(f"{document.name} has no block marked <!-- run -->")
    if not (build / "bin" / "multicard").exists():
        sys.exit(f"{build}/bin/multicard is missing: build first")
    with tempfile.TemporaryDirectory(prefix="multicard-readme.") as scratch:
        tree = pathlib.Path(scratch, "multicard")
        tree.mkdir()
        copy_tree(tree)
        add_cmake_stand_in(pathlib.Path(scratch, "bin"))
        environment = {**os.environ, "MULTICARD_BUILD": str(build), "PATH": f"{scratch}/bin:{os.environ['PATH']}"}
        command = ["bash", "-c", script_of(document.name, blocks)]
        result = subprocess.run(command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, errors="replace", check=False)
        sys.stderr.write(result.stderr)
        if re.search(r"^warning: .*schedule ends", result.stderr, re.M):
            sys.exit(f"{document.name}: a block trains past the end of its learning-rate schedule (warning above)")
    print(f"{len(blocks)} blocks of {document.name}: {'failed' if result.returncode else 'all ran'}")
    sys.exit(1 if result.returncode else 0)


if __name__ == "__main__":
    main()
