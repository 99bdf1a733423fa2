#pragma once
/// \file How ranks exchange gradients.

#include <cstdint>
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

/// How gradients are cut into buckets and sent: what may change between two steps.
struct ExchangeSetting {
  std::optional<double> bucket_mb;             ///< size of a gradient bucket in MB (1e6 bytes); none: a fixed rule
  CommDtype gradient_dtype = CommDtype::same;  ///< communication dtype of gradients

  bool operator==(const ExchangeSetting&) const = default;
};

/// What a setting is where the first steps choose it (train/ExchangeTrials.hpp), and the word for that in a deck.
inline constexpr const char* kMeasured = "measured";

struct ExchangeOptions : ExchangeSetting {
  Backend backend = Backend::automatic;
  bool overlap = true;                     ///< reduce gradients while backward runs
  Hierarchy hierarchy = Hierarchy::nodes;  ///< of MPI; NCCL knows the machine itself
  std::int64_t powersgd_rank = 0;          ///< of PowerSGD's factors; 0: gradients are not compressed
  std::int64_t powersgd_start_step = 0;    ///< the first step whose gradients are compressed
  /// The value of ExchangeSetting is then where the choice starts from.
  bool measures_bucket = false, measures_dtype = false;

  bool measures() const { return measures_bucket || measures_dtype; }
};

/// \param parallel the section parallel
ExchangeOptions read_exchange_options(Section& parallel);

/// The rows of the keys whose values this module defines.
DeckKeys exchange_keys();

}  // namespace multicard
