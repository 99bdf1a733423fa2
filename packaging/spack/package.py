# Spack recipe of multicard. Untested: the project's tests compile this file and compare it with the dependencies that
# scripts/packages.sh lists, but have no Spack.
#
# From a source tree, with this file as packages/multicard/package.py of a repository of the site:
#   spack dev-build multicard@0.1.0 +cuda cuda_arch=90
import os

from spack.package import *


class Multicard(CMakePackage, CudaPackage):
    """Trains image classifiers and fine-tunes language models with one MPI rank per GPU or on CPU ranks, and measures
    where the time of each step goes."""

    license("Apache-2.0", checked_by="the multicard developers")

    version("0.1.0")

    variant("parquet", default=True, description="Read data sets in Parquet")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("git", type="build")
    depends_on("googletest", type="test")
    depends_on("python@3.8:", type=("build", "run"))
    depends_on("openmpi@4.1:")
    depends_on("hdf5+mpi")
    depends_on("py-torch@2.11:2.15")
    depends_on("py-torch+cuda+nccl", when="+cuda")
    depends_on("py-torch~cuda", when="~cuda")
    depends_on("nccl", when="+cuda")
    depends_on("arrow+parquet", when="+parquet")
    depends_on("yaml-cpp")
    depends_on("nlohmann-json")
    depends_on("cli11")
    depends_on("spdlog")
    depends_on("fmt")
    depends_on("openssl")
    depends_on("pcre2+jit")
    depends_on("utf8proc")
    depends_on("qhull")
    depends_on("libjpeg-turbo")
    depends_on("libpng")
    depends_on("zlib-ng+compat")
    depends_on("libdeflate")
    depends_on("simdjson")
    depends_on("eigen@3.4:")
    depends_on("gnuplot", type="run")

    conflicts("%gcc@:11", msg="multicard needs a C++20 compiler: g++ 12 or newer")
    generator("ninja")

    def torch_root(self):
        # .../torch/share/cmake is what py-torch offers to CMake
        return os.path.dirname(os.path.dirname(self.spec["py-torch"].package.cmake_prefix_paths[0]))

    def cmake_args(self):
        spec = self.spec
        args = [
            self.define("TORCH_ROOT", self.torch_root()),
            self.define("HDF5_ROOT", spec["hdf5"].prefix),
            self.define("MULTICARD_CUDA", "ON" if spec.satisfies("+cuda") else "OFF"),
            self.define_from_variant("MULTICARD_PARQUET", "parquet"),
            self.define("MULTICARD_TESTS", self.run_tests),
            self.define("MULTICARD_WERROR", False),
        ]
        if spec.satisfies("+cuda"):
            args.append(self.define("CUDAToolkit_ROOT", spec["cuda"].prefix))
            args.append(self.define("NCCL_ROOT", spec["nccl"].prefix))
            if "none" not in spec.variants["cuda_arch"].value:
                args.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(spec.variants["cuda_arch"].value)))
        return args

    def setup_run_environment(self, env):
        env.set("TORCH_ROOT", self.torch_root())
        env.set("MULTICARD_ROOT", self.prefix.share.multicard)
