#!/usr/bin/env python3
"""Copies the tests with the label gpu into a folder and writes a CTestTestfile.cmake that works wherever it lies.

usage: ctest --show-only=json-v1 | bundle_tests.py FOLDER
"""
import json
import pathlib
import shutil
import sys


def quoted(word):
    return "[==[" + word + "]==]"


def properties_of(test):
    return {one["name"]: one["value"] for one in test.get("properties", [])}


def environment_of(values):
    """The settings of a test but those that name folders, which env.sh of the bundle sets."""
    return [one for one in values if not one.startswith(("MULTICARD_SOURCE=", "MULTICARD_BUILD="))]


def main():
    folder = pathlib.Path(sys.argv[1])
    lines = []
    for test in json.load(sys.stdin)["tests"]:
        properties = properties_of(test)
        if "gpu" not in properties.get("LABELS", []) or "command" not in test:
            continue
        words = []
        for word in test["command"]:
            path = pathlib.Path(word)
            if path.name == "mpiexec" or path.name == "mpirun":
                words.append("mpirun")
            elif path.is_absolute() and path.name.startswith("test_"):
                if not path.is_file():
                    sys.exit(f"{path} is missing: scripts/build.sh --target tests, or -DMULTICARD_TESTS=OFF")
                shutil.copy(path, folder)
                words.append(f"./{path.name}")  # ctest runs a test in the folder of its file
            else:
                words.append(word)
        command = " ".join(map(quoted, words))
        name, timeout = quoted(test["name"]), int(properties.get("TIMEOUT", 300))
        environment = ";".join(environment_of(properties.get("ENVIRONMENT", [])))
        lines.append(f"add_test({name} {command})")
        lines.append(f"set_tests_properties({name} PROPERTIES LABELS gpu RESOURCE_LOCK gpu TIMEOUT {timeout} "
                     f'ENVIRONMENT "{environment}")')
    (folder / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
