#!/usr/bin/env python3
"""Checks a folder filled by `pip install --target` against the RECORD files of its wheels.

usage: wheel_records.py FOLDER [--hash]

Every file a wheel says it holds must be there with the right size; --hash also compares sha256. Prints the first
differences and ends with 1, or prints nothing and ends with 0. Compiled Python files and scripts are not looked at.
"""
import base64
import csv
import hashlib
import pathlib
import sys


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 22), b""):
            digest.update(block)
    return base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()


def differences(folder, with_hash):
    records = sorted(folder.glob("*.dist-info/RECORD"))
    if not any(record.parent.name.startswith("torch-") for record in records):
        yield "no RECORD of torch"
    for record in records:
        with open(record, newline="") as file:
            for name, checksum, size in csv.reader(file):
                path = folder / name
                if not checksum or name.startswith("..") or name.endswith((".pyc", "RECORD", "INSTALLER", "REQUESTED")):
                    continue
                if not path.is_file():
                    yield f"missing: {name}"
                elif size and path.stat().st_size != int(size):
                    yield f"wrong size: {name}"
                elif with_hash and sha256(path) != checksum.partition("=")[2]:
                    yield f"wrong content: {name}"


def main():
    found = list(differences(pathlib.Path(sys.argv[1]), "--hash" in sys.argv[2:]))
    for line in found[:5]:
        print(line)
    if len(found) > 5:
        print(f"... and {len(found) - 5} more")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
