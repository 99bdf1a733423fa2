#!/usr/bin/env python3
"""What cmake/TorchWheel.cmake finds and refuses, on made-up folders of LibTorch, CUDA and NCCL.

usage: gpu_libraries_test.py [unittest arguments]   CMAKE_COMMAND and MULTICARD_SOURCE may name cmake and the tree.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("MULTICARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
CMAKE = os.environ.get("CMAKE_COMMAND", "cmake")

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES C CXX)
# Nothing of this machine's own.
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
list(APPEND CMAKE_MODULE_PATH {cmake})
include(TorchWheel)
foreach(name IN ITEMS MULTICARD_WITH_CUDA MULTICARD_TOOLKIT_VERSION MULTICARD_NCCL_VERSION MULTICARD_NCCL_INCLUDE_DIR
    MULTICARD_NCCL_LIBRARY CMAKE_BUILD_RPATH TORCH_ROOT MULTICARD_LIB_c10)
  file(APPEND ${{CMAKE_BINARY_DIR}}/found.txt "${{name}}=${{${{name}}}}\\n")
endforeach()
"""

# What FindCUDAToolkit asks of nvcc.
NVCC = """#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
case "$*" in
  *--version*) echo "Cuda compilation tools, release {version}, V{version}.88" ;;
  *) echo "#\\$ TOP=$here" >&2 ;;
esac
"""

NCCL_HEADER = """#define NCCL_MAJOR {0}
#define NCCL_MINOR {1}
#define NCCL_PATCH {2}
#define NCCL_VERSION_CODE 1
"""


def write(path, text="", mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


class GpuLibraries(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="multicard-cmake.")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name).resolve()
        self.torch = self.folder / "wheels" / "torch"
        self.wheels = self.folder / "wheels" / "nvidia"
        self.toolkit = self.folder / "cuda"
        self.add_torch(self.torch)
        self.add_torch_for("13")
        write(self.folder / "project/CMakeLists.txt", PROJECT.format(cmake=self.folder / "project/cmake"))
        shutil.copytree(SOURCE / "cmake", self.folder / "project/cmake")
        write(self.folder / "project/scripts/libtorch/default", "2.15.0\n")

    def add_torch(self, folder, version="2.15.0"):
        parts = zip(("MAJOR", "MINOR", "PATCH"), version.split("."))
        write(folder / "include/torch/headeronly/version.h",
              "".join(f"#define TORCH_VERSION_{part} {number}\n" for part, number in parts))
        for name in ("c10", "torch_cpu", "torch_cuda"):
            write(folder / f"lib/lib{name}.so")

    def add_torch_for(self, major):
        write(self.torch / "lib/libc10_cuda.so", f"\0libc10.so\0libcudart.so.{major}\0cudaFree@libcudart.so.{major}\0")

    def add_toolkit(self, version="13.0"):
        write(self.toolkit / "bin/nvcc", NVCC.format(version=version), 0o755)
        write(self.toolkit / "include/cuda_runtime.h")
        for name in ("libcudart.so", "libcuda.so"):
            write(self.toolkit / "lib64" / name)

    def add_nccl(self, folder, version="2.30.7", library="libnccl.so.2", lib="lib"):
        write(folder / "include/nccl.h", NCCL_HEADER.format(*version.split(".")))
        write(folder / lib / library)

    def add_cuda_wheels(self, version="13.0"):
        for header in ("cuda_runtime_api.h", "crt/host_defines.h", "nv/target", "cublas_v2.h", "cusparse.h",
                       "nvtx3/nvToolsExt.h"):
            write(self.wheels / "cu13/include" / header)
        major, minor = version.split(".")
        write(self.wheels / "cu13/include/cuda.h", f"#define CUDA_VERSION {int(major) * 1000 + int(minor) * 10}\n")
        write(self.wheels / "cu13/lib/libcudart.so.13")

    def configure(self, *options, environment=None, names_torch=True):
        """Exit status, what was found, and all that CMake said, in one line."""
        build = self.folder / "build"
        build.mkdir(exist_ok=True)
        command = [CMAKE, "-S", str(self.folder / "project"), "-B", str(build), "-DCMAKE_C_COMPILER_WORKS=1",
                   "-DCMAKE_CXX_COMPILER_WORKS=1", *([f"-DTORCH_ROOT={self.torch}"] if names_torch else []), *options]
        if (self.toolkit / "bin/nvcc").exists():
            command.append(f"-DCUDAToolkit_ROOT={self.toolkit}")
        else:
            command.append("-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON")
        clean = {name: value for name, value in os.environ.items()
                 if name not in ("NCCL_ROOT", "TORCH_ROOT", "MULTICARD_LIBTORCH", "MULTICARD_CACHE", "CUDA_PATH",
                                 "CUDAToolkit_ROOT", "CMAKE_PREFIX_PATH")}
        result = subprocess.run(command, env={**clean, **(environment or {})}, capture_output=True, text=True,
                                check=False)
        found = build / "found.txt"
        values = dict(line.split("=", 1) for line in found.read_text().splitlines()) if found.exists() else {}
        return result.returncode, values, " ".join((result.stdout + result.stderr).split())

    def expect(self, nccl, *options, environment=None):
        status, found, said = self.configure(*options, environment=environment)
        self.assertEqual(status, 0, said)
        self.assertEqual(found["MULTICARD_WITH_CUDA"], "1", said)
        self.assertEqual(found["MULTICARD_NCCL_INCLUDE_DIR"], str(nccl / "include"))
        self.assertTrue(found["MULTICARD_NCCL_LIBRARY"].startswith(str(nccl)), found)
        return found

    def expect_stop(self, *words, options=()):
        status, _, said = self.configure(*options)
        self.assertNotEqual(status, 0, said)
        for word in words:
            self.assertIn(word, said)

    def test_nccl_next_to_libtorch_goes_before_the_toolkit(self):
        self.add_toolkit()
        self.add_nccl(self.toolkit, library="libnccl.so", lib="lib64")
        self.add_nccl(self.wheels / "nccl")
        found = self.expect(self.wheels / "nccl")
        self.assertEqual(found["MULTICARD_NCCL_VERSION"], "2.30.7")

    def test_nccl_root_goes_before_all(self):
        self.add_toolkit()
        self.add_nccl(self.wheels / "nccl")
        own = self.folder / "own"
        self.add_nccl(own, "2.31.1")
        self.assertEqual(self.expect(own, environment={"NCCL_ROOT": str(own)})["MULTICARD_NCCL_VERSION"], "2.31.1")

    def test_nccl_root_without_nccl_is_said(self):
        self.add_toolkit()
        self.add_nccl(self.wheels / "nccl")
        status, _, said = self.configure(f"-DNCCL_ROOT={self.folder}/none")
        self.assertEqual(status, 0, said)
        self.assertIn(f"NCCL_ROOT={self.folder}/none holds no NCCL", said)

    def test_header_and_library_are_never_from_two_places(self):
        self.add_toolkit()
        self.add_nccl(self.toolkit, lib="lib64")
        write(self.wheels / "nccl/lib/libnccl.so.2")  # without its header
        self.expect(self.toolkit)

    def test_found_again_after_a_change(self):
        self.add_toolkit()
        self.add_nccl(self.toolkit, lib="lib64")
        self.expect(self.toolkit)
        self.add_nccl(self.wheels / "nccl")
        (self.folder / "build/found.txt").unlink()
        self.expect(self.wheels / "nccl")

    def test_an_old_nccl_stops(self):
        self.add_toolkit()
        self.add_nccl(self.toolkit, "2.28.9", lib="lib64")
        self.expect_stop("NCCL is 2.28.9", "LibTorch 2.15.0 calls functions of NCCL 2.30", "scripts/setup.sh --gpu")
        self.add_torch(self.torch, "2.12.1")
        self.expect_stop("NCCL is 2.28.9", "LibTorch 2.12.1 calls functions of NCCL 2.29")
        self.add_torch(self.torch, "2.11.0")
        self.expect(self.toolkit)

    def test_another_cuda_major_stops(self):
        self.add_toolkit("12.4")
        self.add_nccl(self.toolkit, lib="lib64")
        self.expect_stop("The CUDA toolkit is 12.4", "built with CUDA 13", "CUDAToolkit_ROOT", "MULTICARD_CUDA=OFF")

    def test_another_minor_and_a_torch_for_cuda_12_are_taken(self):
        self.add_toolkit("12.4")
        self.add_torch_for("12")
        self.add_nccl(self.wheels / "nccl")
        self.expect(self.wheels / "nccl")

    def test_switched_off_nothing_is_checked(self):
        self.add_toolkit("12.4")
        for word in ("OFF", "off", "0", "False"):
            status, found, said = self.configure(f"-DMULTICARD_CUDA={word}")
            self.assertEqual((status, found["MULTICARD_WITH_CUDA"]), (0, "0"), said)

    def test_switched_on_in_other_words_or_wrongly(self):
        self.expect_stop("MULTICARD_CUDA=ON, but", options=["-DMULTICARD_CUDA=on"])
        self.expect_stop("MULTICARD_CUDA=maybe is not one of AUTO, ON and OFF", options=["-DMULTICARD_CUDA=maybe"])

    def torch_taken(self, *options, environment=None):
        """The LibTorch that a configuration without -DTORCH_ROOT takes, and all that CMake said."""
        status, found, said = self.configure(*options, environment=environment, names_torch=False)
        self.assertEqual(status, 0, said)
        self.assertEqual(found["MULTICARD_LIB_c10"], f"{found['TORCH_ROOT']}/lib/libc10.so")
        return found["TORCH_ROOT"], said

    def test_another_libtorch_is_taken_in_an_existing_build_folder(self):
        first, second = str(self.torch), str(self.folder / "wheels/second")
        shutil.copytree(first, second)
        self.assertEqual(self.torch_taken(environment={"TORCH_ROOT": first})[0], first)
        taken, said = self.torch_taken(environment={"TORCH_ROOT": second})
        self.assertEqual(taken, second)
        self.assertIn(f"{second}, replaces {first}", said)
        self.assertEqual(self.torch_taken()[0], second)
        # The command line goes before the environment, then and until the environment changes.
        named = [f"-DTORCH_ROOT={first}"]
        self.assertEqual(self.torch_taken(*named, environment={"TORCH_ROOT": second})[0], first)
        self.assertEqual(self.torch_taken(environment={"TORCH_ROOT": second})[0], first)
        self.assertEqual(self.torch_taken()[0], first)

    def test_the_version_that_the_tree_was_set_up_with_is_taken(self):
        cache = self.folder / "cache"
        for version in ("2.11.0", "2.14.1", "2.15.0"):
            self.add_torch(cache / f"libtorch-{version}/torch", version)
        environment = {"MULTICARD_CACHE": str(cache)}

        def taken(*options, **more):
            return pathlib.Path(self.torch_taken(*options, environment={**environment, **more})[0]).parent.name
        self.assertEqual(taken(), "libtorch-2.15.0")
        write(self.folder / "project/build/libtorch-version", "2.11.0\n")
        self.assertEqual(taken(), "libtorch-2.11.0")
        self.assertEqual(taken(MULTICARD_LIBTORCH="2.14.1"), "libtorch-2.14.1")
        self.assertEqual(taken("-DMULTICARD_LIBTORCH=2.15.0", MULTICARD_LIBTORCH="2.14.1"), "libtorch-2.15.0")
        self.assertEqual(taken("-DMULTICARD_LIBTORCH="), "libtorch-2.11.0")
        # What is named stays.
        named = cache / "libtorch-2.14.1/torch"
        self.assertEqual(self.torch_taken(f"-DTORCH_ROOT={named}", environment=environment)[0], str(named))
        self.assertEqual(self.torch_taken(environment=environment)[0], str(named))

    def test_another_version_stops_or_is_said(self):
        self.add_torch(self.torch, "2.10.1")
        self.expect_stop("is 2.10.1: 2.11 to 2.15 are supported", "scripts/setup.sh")
        self.add_torch(self.torch, "2.16.0")
        status, _, said = self.configure()
        self.assertEqual(status, 0, said)
        self.assertIn("is 2.16.0: multicard is tested with 2.11 to 2.15", said)

    def test_the_newer_cuda_runtime_goes_first(self):
        self.add_toolkit("13.0")
        self.add_nccl(self.toolkit, lib="lib64")
        for version, first in (("13.0", "toolkit"), ("13.2", "wheels")):
            self.add_cuda_wheels(version)
            folders = self.expect(self.toolkit)["CMAKE_BUILD_RPATH"].split(";")
            (self.folder / "build/found.txt").unlink()
            places = {"toolkit": str(self.toolkit / "lib64"), "wheels": str(self.wheels / "cu13/lib")}
            self.assertEqual(min(places, key=lambda name: folders.index(places[name])), first, folders)

    def test_libtorch_without_cuda(self):
        self.add_toolkit()
        (self.torch / "lib/libc10_cuda.so").unlink()
        status, found, said = self.configure()
        self.assertEqual((status, found["MULTICARD_WITH_CUDA"]), (0, "0"), said)
        self.assertIn("is built without CUDA", said)
        self.expect_stop("MULTICARD_CUDA=ON, but", "is built without CUDA", options=["-DMULTICARD_CUDA=ON"])

    def test_without_a_toolkit_the_wheels_serve(self):
        self.add_cuda_wheels()
        self.add_nccl(self.wheels / "nccl")
        found = self.expect(self.wheels / "nccl")
        self.assertEqual(found["MULTICARD_TOOLKIT_VERSION"], "13.0")
        for folder in (self.torch / "lib", self.wheels / "nccl/lib", self.wheels / "cu13/lib"):
            self.assertIn(str(folder), found["CMAKE_BUILD_RPATH"].split(";"))

    def test_without_anything_there_is_no_gpu_path(self):
        status, found, said = self.configure()
        self.assertEqual((status, found["MULTICARD_WITH_CUDA"]), (0, "0"), said)
        self.assertIn("scripts/setup.sh --gpu", said)


if __name__ == "__main__":
    unittest.main()
