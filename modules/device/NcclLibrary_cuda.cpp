#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <nccl.h>

#include "base/Error.hpp"
#include "device/GpuProblem.hpp"
#include "device/NcclLibrary.hpp"

namespace multicard {

namespace {

NcclLibrary load() {
  NcclLibrary library;
  // Global: LibTorch's GPU part, loaded later, then finds the symbols of this library and loads no other.
  library.handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
  if (!library.handle) {
    library.error = dlerror();
    return library;
  }
  link_map* map = nullptr;
  if (dlinfo(library.handle, RTLD_DI_LINKMAP, &map) == 0) library.path = map->l_name;
  return library;
}

void* find(const char* name) {
  const NcclLibrary& library = nccl_library();
  void* found = library.handle ? dlsym(library.handle, name) : nullptr;
  if (found) return found;
  GpuFindings findings;
  findings.failure = GpuFailure::library;
  findings.error = library.handle ? fmt::format("{}: undefined symbol: {}", library.path, name) : library.error;
  const GpuProblem problem = describe(findings);
  throw EnvironmentError(problem.problem, problem.why, problem.suggestion);
}

/// Calls the loaded library's `Function`, looked up once.
template <auto Function, typename... Arguments>
auto call(const char* name, Arguments... arguments) {
  // Function is the wrapper below itself: it gives the type, and makes a static variable for each name.
  static const auto function = reinterpret_cast<decltype(Function)>(find(name));
  return function(arguments...);
}

}  // namespace

const NcclLibrary& nccl_library() {
  static const NcclLibrary library = load();
  return library;
}

}  // namespace multicard

// NCCL's functions, as far as the program uses them; another one does not link until it has its line here. A program
// that links libtorch_cuda lends them to it, which makes no difference: they call the same library.
extern "C" {

using multicard::call;

ncclResult_t ncclGetVersion(int* version) {
  return call<ncclGetVersion>("ncclGetVersion", version);
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return call<ncclGetUniqueId>("ncclGetUniqueId", id);
}
const char* ncclGetErrorString(ncclResult_t result) {
  return call<ncclGetErrorString>("ncclGetErrorString", result);
}
const char* ncclGetLastError(ncclComm_t comm) {
  return call<ncclGetLastError>("ncclGetLastError", comm);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return call<ncclCommInitRankConfig>("ncclCommInitRankConfig", comm, size, id, rank, config);
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return call<ncclCommFinalize>("ncclCommFinalize", comm);
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return call<ncclCommDestroy>("ncclCommDestroy", comm);
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return call<ncclCommAbort>("ncclCommAbort", comm);
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return call<ncclCommGetAsyncError>("ncclCommGetAsyncError", comm, error);
}

ncclResult_t ncclGroupStart() {
  return call<ncclGroupStart>("ncclGroupStart");
}
ncclResult_t ncclGroupEnd() {
  return call<ncclGroupEnd>("ncclGroupEnd");
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return call<ncclReduce>("ncclReduce", from, to, count, type, op, root, comm, stream);
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return call<ncclBroadcast>("ncclBroadcast", from, to, count, type, root, comm, stream);
}
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return call<ncclAllReduce>("ncclAllReduce", from, to, count, type, op, comm, stream);
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return call<ncclAllGather>("ncclAllGather", from, to, count, type, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return call<ncclReduceScatter>("ncclReduceScatter", from, to, count, type, op, comm, stream);
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return call<ncclSend>("ncclSend", from, count, type, peer, comm, stream);
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return call<ncclRecv>("ncclRecv", to, count, type, peer, comm, stream);
}

}  // extern "C"
