// MKL, which is inside libtorch_cpu, asks this function whether the CPU is Intel's and takes slow kernels where it is
// not: on AMD's of today a product is several times slower, and its last bits change with the number of threads. What
// instructions a CPU has is asked elsewhere, so the answer may always be yes. The program's own definition comes before
// the library's (TorchWheel.cmake links it first and exports it).
extern "C" __attribute__((visibility("default"))) int mkl_serv_intel_cpu_true();
extern "C" int mkl_serv_intel_cpu_true() {
  return 1;
}
