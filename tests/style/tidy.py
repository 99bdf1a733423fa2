#!/usr/bin/env python3
"""Runs clang-tidy 14 with the checks of .clang-tidy over sources of modules/, app/ and postproc/.

usage: tidy.py [--all | FILE ...] [-j N] [--limit N] [--build FOLDER] [--root FOLDER]

Without files: those that differ from the upstream branch, or on it those of the last commit; in place of a header the
sources that include it. Of more than --limit (10; 0 is no limit) an even choice is taken. --all takes every source.
Compiler flags come from FOLDER/compile_commands.json (default $MULTICARD_BUILD, else build/release); sources that this
configuration does not compile are left out. Prints findings as clang-tidy does and ends with 1 if there is one; where
clang-tidy 14, the flags or git are missing it says so and ends with 77.

What a file gave is kept in $MULTICARD_CACHE/tidy under a hash of the tool, the checks, the flags, the file and the
project's headers it includes, so that a second run costs nothing. Other headers count by their paths in the flags.
"""
import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import time

from source_tree import INCLUDE, SOURCE_FOLDERS, Tree, run_tool

SKIPPED = 77
MAJOR = "14"  # other versions have other checks
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git knows it everywhere
KEPT_DAYS = 60
# The analyzer follows a function's paths up to 225000 nodes unless told: two thirds of all time, in a few functions.
ANALYZER = "max-nodes=30000"
# g++'s permutation of vectors, which clang does not know, as any expression of its type.
SHUFFLE = "-D__builtin_shuffle(values,...)=((void)(__VA_ARGS__),values)"
EXTRA = ["-Xclang", "-analyzer-config", "-Xclang", ANALYZER, "-Wno-unknown-warning-option", "-Qunused-arguments",
         SHUFFLE]
# What g++ alone understands: its precompiled header, warnings that clang lacks, and warnings as errors.
DROPPED = {"-Winvalid-pch", "-fpch-preprocess", "-Wno-restrict", "-Wno-stringop-overflow", "-Werror", "-c"}
DROPPED_WITH_VALUE = {"-include", "-o"}
COMPILE_ERROR = "[clang-diagnostic-error"
FINDING = re.compile(r"^\S.*:\d+:\d+: (?:error|warning): ")


class Skip(Exception):
    """Why nothing can be checked here."""


def find_clang_tidy():
    """The program and its version line."""
    for name in (f"clang-tidy-{MAJOR}", "clang-tidy"):
        program = shutil.which(name)
        if not program:
            continue
        version = re.search(r"version (\d+)\S*", run_tool([program, "--version"], ".").stdout)
        if version and version[1] == MAJOR:
            return program, version[0]
    raise Skip(f"clang-tidy {MAJOR} is not installed")


def clang_flags(entry):
    """The flags of an entry of compile_commands.json that clang understands."""
    words = iter(entry.get("arguments") or shlex.split(entry["command"]))
    next(words)
    flags = []
    for word in words:
        if word in DROPPED_WITH_VALUE:
            next(words)
        elif word not in DROPPED and word != entry["file"]:
            flags.append(word)
    return flags


class Sources:
    """The sources that the configuration compiles, with their flags, and what they include."""

    def __init__(self, root, build):
        self.tree = Tree(root)
        commands = pathlib.Path(build, "compile_commands.json")
        if not commands.is_file():
            raise Skip(f"no {commands}: build first (scripts/build.sh)")
        self.flags = {}
        for entry in json.loads(commands.read_text(encoding="utf-8")):
            path = pathlib.Path(entry["directory"], entry["file"]).resolve()
            if path.suffix == ".cpp" and path.is_relative_to(self.tree.root):
                self.flags.setdefault(path.relative_to(self.tree.root), clang_flags(entry))
        self.compiled = [path for path in self.tree.cpp(*SOURCE_FOLDERS) if path in self.flags]
        self._known = set(self.tree.files)

    def project_headers(self, path):
        """The headers of the project that this file names, as paths in the tree."""
        folders = [path.parent, pathlib.Path("modules"), pathlib.Path("."), pathlib.Path("app")]
        for _, quote, name in self.tree.includes(path):
            found = next((folder / name for folder in folders if folder / name in self._known), None)
            if quote == '"' and found:
                yield found

    def reached(self, path):
        """This file and all headers of the project that it includes, directly or not."""
        seen, waiting = set(), [path]
        while waiting:
            file = waiting.pop()
            if file not in seen:
                seen.add(file)
                waiting += self.project_headers(file)
        return sorted(seen)

    def including(self, header):
        return [path for path in self.compiled if header in self.project_headers(path)]


def git(root, *arguments):
    return run_tool(["git", "-c", f"safe.directory={root}", "-C", str(root), *arguments], root)


def names_from_git(root, *arguments):
    """The files that git lists, as paths in the tree."""
    listed = git(root, *arguments, "-z")
    if listed.returncode:
        raise Skip(f"git {arguments[0]} failed: {listed.stderr.strip()}")
    return {pathlib.Path(name) for name in listed.stdout.split("\0") if name}


def base_commit(root):
    """What the tree is compared with: where it left its upstream branch, else the commit before, else nothing."""
    head = git(root, "rev-parse", "HEAD")
    if head.returncode:
        raise Skip("git does not know what changed")
    for upstream in ("@{upstream}", "origin/HEAD"):
        base = git(root, "merge-base", "HEAD", upstream)
        if base.returncode == 0 and base.stdout != head.stdout:
            return base.stdout.strip()
    if git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        raise Skip("a shallow clone does not say what changed")
    before = git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")
    return before.stdout.strip() if before.returncode == 0 else EMPTY_TREE


def changed_sources(sources):
    """Changed sources, then those that include changed headers."""
    root = sources.tree.root
    paths = sorted(names_from_git(root, "diff", "--name-only", base_commit(root)) |
                   names_from_git(root, "ls-files", "-o", "--exclude-standard"))
    own = [path for path in paths if path in sources.compiled]
    others = {path for header in paths if header.suffix == ".hpp" for path in sources.including(header)}
    return own, sorted(others - set(own))


def even_choice(items, number):
    """At most this many of the items, at even distances."""
    if len(items) <= number:
        return items
    return [items[index * len(items) // number] for index in range(number)]


def choose(sources, options):
    """The files to check, and how many more there would be."""
    if options.all:
        return sources.compiled, 0
    if options.files:
        files = [pathlib.Path(file).resolve().relative_to(sources.tree.root) for file in options.files]
        files = list(dict.fromkeys(files))
        unknown = [str(file) for file in files if file not in sources.flags]
        if unknown:
            sys.exit(f"not compiled in this configuration: {', '.join(unknown)}")
        return files, 0
    own, others = changed_sources(sources)
    limit = options.limit or len(own) + len(others)
    chosen = even_choice(own, limit)
    chosen = chosen + even_choice(others, limit - len(chosen))
    return chosen, len(own) + len(others) - len(chosen)


class Tidy:
    """clang-tidy with a memory."""

    def __init__(self, sources):
        self.sources = sources
        self.root = sources.tree.root
        self.program, self.version = find_clang_tidy()
        self.checks = (self.root / ".clang-tidy").read_bytes()
        default = pathlib.Path.home() / ".cache" / "multicard"
        self.cache = pathlib.Path(os.environ.get("MULTICARD_CACHE", default), "tidy")
        self.cache.mkdir(parents=True, exist_ok=True)
        for entry in self.cache.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another run cleans up or renames its file
                if time.time() - entry.stat().st_mtime > KEPT_DAYS * 24 * 3600:
                    entry.unlink()

    def _key(self, file):
        flags = [word.replace(str(self.root), ".") for word in self.sources.flags[file]]
        parts = [self.version.encode(), self.checks, json.dumps(flags + EXTRA).encode()]
        for path in self.sources.reached(file):
            parts += [str(path).encode(), (self.root / path).read_bytes()]
        return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()

    def check(self, file):
        """(output, seconds; None where it was known) of a file. Paths in the output are those of the tree."""
        known = self.cache / self._key(file)
        with contextlib.suppress(FileNotFoundError):
            text = known.read_text(encoding="utf-8")
            known.touch()
            return text, None
        start = time.monotonic()
        command = [self.program, "--quiet", str(self.root / file), "--", *self.sources.flags[file], *EXTRA]
        run = run_tool(command, self.root)
        text = run.stdout.replace(f"{self.root}/", "")
        has_findings = any(map(FINDING.match, text.splitlines()))
        if run.returncode < 0 or (run.returncode and not has_findings):
            text += f"{file}:1:1: error: clang-tidy ended with {run.returncode}: {run.stderr[-2000:]}\n"
        elif COMPILE_ERROR not in text:  # a header outside the project may be there the next time
            self._keep(known, text)
        return text, time.monotonic() - start

    def _keep(self, known, text):
        """Written elsewhere and renamed, so that runs beside this one never read half of it."""
        with tempfile.NamedTemporaryFile("w", dir=self.cache, delete=False, encoding="utf-8") as temporary:
            temporary.write(text)
        os.replace(temporary.name, known)


def findings_in(text):
    """The findings of an output, each with its notes and the lines shown."""
    block = []
    for line in text.splitlines():
        if FINDING.match(line) and block:
            yield "\n".join(block)
            block = []
        block.append(line)
    if block:
        yield "\n".join(block)


def check_all(tidy, files, jobs):
    """Prints every finding once, headers are seen by many files. Returns the number of findings and of known files."""
    seen, known = set(), 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, (file, (text, seconds)) in enumerate(zip(files, pool.map(tidy.check, files)), 1):
            known += seconds is None
            if seconds is not None:
                print(f"[{number}/{len(files)}] {file} ({seconds:.0f} s)", file=sys.stderr, flush=True)
            for finding in findings_in(text):
                if finding not in seen:
                    seen.add(finding)
                    print(finding, flush=True)
    return len(seen), known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="sources to check (default: what changed)")
    parser.add_argument("--all", action="store_true", help="every source")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="files at once")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="at most N changed files; 0: all")
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--root", type=pathlib.Path, default=root, help="folder of the source tree")
    parser.add_argument("--build", type=pathlib.Path, help="build folder with compile_commands.json")
    options = parser.parse_args()
    build = options.build or os.environ.get("MULTICARD_BUILD") or options.root / "build" / "release"
    try:
        sources = Sources(options.root, build)
        files, left_out = choose(sources, options)
        num_findings, known = check_all(Tidy(sources), files, options.jobs)
    except Skip as reason:
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    more = f", {left_out} more changed (--limit 0 takes all)" if left_out else ""
    print(f"tidy: {num_findings} findings in {len(files)} files ({known} known from before{more})")
    sys.exit(1 if num_findings else 0)


if __name__ == "__main__":
    main()
