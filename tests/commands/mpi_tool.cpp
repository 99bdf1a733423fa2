// A tool for MPI programs as Score-P or mpiP: it wraps functions of MPI, counts their calls, and writes what it has
// counted when the process ends, to the file MPI_TOOL_LOG.RANK. With MPI_TOOL_NODES set every rank finds itself alone
// on its node, so that what goes through shared memory otherwise goes through MPI.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <mpi.h>

namespace {

int g_rank = -1;
std::atomic<long> g_all_reduces = 0, g_gathers = 0, g_sends = 0;  // threads call MPI

void write_counts() {
  const char* const path = std::getenv("MPI_TOOL_LOG");
  if (!path || g_rank < 0) return;  // the launcher has the library too
  if (std::FILE* const file = std::fopen((std::string(path) + "." + std::to_string(g_rank)).c_str(), "w")) {
    std::fprintf(file, "%ld %ld %ld\n", g_all_reduces.load(), g_gathers.load(), g_sends.load());
    std::fclose(file);
  }
}

}  // namespace

extern "C" {

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  PMPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  std::atexit(write_counts);
  return code;
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm communicator) {
  ++g_all_reduces;
  return PMPI_Allreduce(from, to, count, type, op, communicator);
}

int MPI_Allgather(const void* from, int num_sent, MPI_Datatype type_sent, void* to, int num_received,
                  MPI_Datatype type_received, MPI_Comm communicator) {
  ++g_gathers;
  return PMPI_Allgather(from, num_sent, type_sent, to, num_received, type_received, communicator);
}

int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator,
              MPI_Request* request) {
  ++g_sends;
  return PMPI_Isend(from, count, type, to, tag, communicator, request);
}

int MPI_Comm_split_type(MPI_Comm communicator, int type, int key, MPI_Info info, MPI_Comm* part) {
  if (std::getenv("MPI_TOOL_NODES")) return PMPI_Comm_split(communicator, g_rank, key, part);
  return PMPI_Comm_split_type(communicator, type, key, info, part);
}

}  // extern "C"
