#!/usr/bin/env python3
"""Writes by what scripts/setup.sh fetches a version of LibTorch: scripts/libtorch/VERSION.txt and VERSION-gpu.txt.

usage: pin_libtorch.py VERSION ...

The package index is asked through pip (no wheel is fetched) for what torch VERSION depends on; all of it is pinned by
version and sha256. torch has one wheel for each Python, whose C++ libraries are what counts.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

PYTHONS = [f"3.{minor}" for minor in range(10, 16)]
# With torch: what its CPU part loads (CUDA runtime, CUPTI), and what no CUDA toolkit has.
WITH_TORCH = ["nvidia-cusparselt-cu13", "nvidia-cufile", "nvidia-nvshmem-cu13", "nvidia-cuda-runtime",
              "nvidia-cuda-cupti"]
GPU = ["nvidia-cublas", "nvidia-cufft", "nvidia-curand", "nvidia-cusolver", "nvidia-cusparse", "nvidia-nvjitlink",
       "nvidia-cuda-nvrtc", "nvidia-cudnn-cu13", "nvidia-nccl-cu13"]
HEADERS = ["nvidia-cuda-crt", "nvidia-cuda-cccl", "nvidia-nvtx"]  # no wheel depends on the first two
# Dependencies that torch leaves open are those of its own CUDA toolkit.
OF_THE_TOOLKIT = ["nvidia-nvjitlink", "nvidia-cuda-crt", "nvidia-cuda-cccl"]
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (28, 27, 26, 25, 24, 18, 17, 12, 5)] + \
    [f"manylinux{name}_x86_64" for name in ("2014", "2010", "1")]


def resolved(python, *requirements):
    """{name: (version, sha256, what it requires)} of what pip would install; empty where there is no such wheel."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
        run = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", report,
             "--target", pathlib.Path(folder, "none"), "--only-binary=:all:", "--implementation", "cp",
             "--python-version", python, *platforms, *requirements], capture_output=True, text=True)
        if run.returncode != 0:
            if "No matching distribution found for torch" in run.stderr:
                return {}
            sys.exit(run.stderr)
        return {entry["metadata"]["name"].lower(): (
            entry["metadata"]["version"], entry["download_info"]["archive_info"]["hashes"]["sha256"],
            entry["metadata"].get("requires_dist", [])) for entry in json.loads(report.read_text())["install"]}


def pins(name, version, hashes):
    return f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{one}" for one in hashes) + "\n"


def write(version):
    wheels = {python: found["torch"] for python in PYTHONS
              if (found := resolved(python, "--no-deps", f"torch=={version}"))}
    if not wheels:
        sys.exit(f"There is no wheel of torch {version} for Linux on x86-64.")
    python, (_, _, requires) = next(iter(wheels.items()))
    toolkit = next(line for line in requires if line.startswith("cuda-toolkit")).split("==")[1].split(";")[0]
    cuda = ".".join(toolkit.split(".")[:2])
    found = resolved(python, f"torch=={version}", *(f"{name}=={cuda}.*" for name in OF_THE_TOOLKIT))
    folder = pathlib.Path(__file__).resolve().parent / "libtorch"

    def lines(names):
        return "".join(pins(name, found[name][0], [found[name][1]]) for name in names if name in found)
    folder.joinpath(f"{version}.txt").write_text(
        f"# LibTorch {version} (CUDA {cuda}) and the small CUDA libraries that it loads (scripts/pin_libtorch.py)\n"
        f"# CPython: {' '.join(wheels)}\n" + pins("torch", version, [wheel[1] for wheel in wheels.values()]) +
        lines(WITH_TORCH))
    folder.joinpath(f"{version}-gpu.txt").write_text(
        "# The other CUDA libraries that libtorch_cuda loads (scripts/pin_libtorch.py)\n" + lines(GPU) +
        "# Headers only, for machines without a CUDA toolkit: what the headers of the others include, and NVTX\n" +
        lines(HEADERS))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    for one in sys.argv[1:]:
        write(one)
