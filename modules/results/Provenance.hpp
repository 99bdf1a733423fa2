#pragma once
/// \file Where a result comes from.

#include <map>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "results/SettingKey.hpp"

namespace multicard {

/// The attributes of /provenance; what does not apply is empty.
struct Provenance {
  std::string command_line;
  std::vector<std::string> hosts;  ///< of each rank
  std::string cpu;
  std::vector<std::string> gpus;  ///< of each rank, e.g. "NVIDIA H100 80GB HBM3"
  std::string driver, cuda, nccl;
  std::string mpi, hdf5, torch, kernel;
  std::string compiler, build_flags;
  std::map<std::string, std::string> environment;  ///< no secrets: SLURM_*, NCCL_*, OMPI_*, OMP_*, HDF5_* and the like
  std::vector<SettingKey> keys;                    ///< all deck keys
};

/// Collective. Everything that needs no GPU library to know; the caller fills gpus, driver, cuda, nccl and keys. The
/// environment is rank 0's.
Provenance collect_provenance(const Communicator& communicator, const std::string& command_line);

}  // namespace multicard
