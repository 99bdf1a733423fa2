#!/usr/bin/env python3
"""Stubs for what LibTorch needs of a CUDA library and is not implemented: a call of one ends the program and names it.

usage: make_stubs.py needs --torch FOLDER -o FILE
       make_stubs.py library --soname NAME [--version-node NODE] --pattern REGEX [--also NAME,...] --needs FILE
                     [--objects FILE ...] --stubs FILE.c --map FILE.map

`needs` lists the symbols that LibTorch's libraries leave undefined. `library` writes a C file with those of one library
that its objects do not define, and the version script that it is linked with.
"""
import argparse
import pathlib
import re
import subprocess

USERS = ["c10_cuda", "torch_cuda", "torch_cuda_linalg", "torch_nvshmem", "caffe2_nvrtc", "torch_cpu"]


def symbols(path, *options):
    text = subprocess.run(["nm", *options, str(path)], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in text.splitlines() if line and not line.endswith(":")}


def list_needs(options):
    libraries = [pathlib.Path(options.torch, "lib", f"lib{name}.so") for name in USERS]
    found = set().union(*(symbols(path, "-D", "--undefined-only") for path in libraries if path.exists()))
    gpu = re.compile(r"(__)?(cu|nccl|nvrtc|nvshmem)")
    pathlib.Path(options.output).write_text("".join(f"{name}\n" for name in sorted(found) if gpu.match(name)))


def needed_of(options):
    """Names by their version, or, where a library has none, by how its names begin."""
    for line in pathlib.Path(options.needs).read_text().splitlines():
        name, _, version = line.partition("@")
        version = version.lstrip("@")
        if version == options.version_node if version else re.match(options.pattern, name):
            yield name


def write_library(options):
    defined = set().union(*(symbols(path, "--defined-only") for path in options.objects))
    wanted = set(needed_of(options)) | set(filter(None, options.also.split(",")))
    stubs = [f'int {name}(void) {{ fake_not_written("{name}"); return 1; }}\n' for name in sorted(wanted - defined)]
    pathlib.Path(options.stubs).write_text("void fake_not_written(const char*);\n" + "".join(stubs))
    exported = 'cu*; __cuda*; nccl*; nvrtc*; nvshmem*; fake_not_written; extern "C++" { fake::*; };'
    pathlib.Path(options.map).write_text(f"{options.version_node} {{ global: {exported} local: *; }};\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    needs = commands.add_parser("needs")
    needs.add_argument("--torch", required=True)
    needs.add_argument("-o", "--output", required=True)
    needs.set_defaults(run=list_needs)
    library = commands.add_parser("library")
    for name in ("soname", "pattern", "needs", "stubs", "map"):
        library.add_argument(f"--{name}", required=True)
    library.add_argument("--version-node", default="")
    library.add_argument("--also", default="")
    library.add_argument("--objects", nargs="*", default=[])
    library.set_defaults(run=write_library)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
