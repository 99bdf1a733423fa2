#pragma once
/// \file How ranks exchange gradients.

#include <optional>

#include "config/DeckKey.hpp"
#include "config/Words.hpp"

namespace multicard {

/// parallel.backend
enum class Backend { automatic, mpi, nccl, none };
inline constexpr Word<Backend> kBackendWords[] = {
    {"auto", Backend::automatic}, {"mpi", Backend::mpi}, {"nccl", Backend::nccl}, {"none", Backend::none}};

/// parallel.gradient_dtype: the communication dtype of an all-reduce.
enum class CommDtype { same, bf16, fp16 };
inline constexpr Word<CommDtype> kCommDtypeWords[] = {
    {"same", CommDtype::same}, {"bf16", CommDtype::bf16}, {"fp16", CommDtype::fp16}};

/// parallel.hierarchy: whether the ranks of a node add up what they have before nodes exchange their sums.
enum class Hierarchy { nodes, flat };

struct ExchangeOptions {
  Backend backend = Backend::automatic;
  std::optional<double> bucket_mb;             ///< size of a gradient bucket in MB (1e6 bytes); none: a fixed rule
  bool overlap = true;                         ///< reduce gradients while backward runs
  CommDtype gradient_dtype = CommDtype::same;  ///< communication dtype of gradients
  Hierarchy hierarchy = Hierarchy::nodes;      ///< of MPI; NCCL knows the machine itself
};

/// \param parallel the section parallel
ExchangeOptions read_exchange_options(Section& parallel);

/// The rows of the keys whose values this module defines.
DeckKeys exchange_keys();

}  // namespace multicard
