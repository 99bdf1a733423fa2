#pragma once
/// \file Counts, bytes and times of collectives; for modules/dist only.

#include <cstdint>
#include <map>
#include <string>

#include "base/Measures.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

enum class CollectiveKind { all_reduce, reduce, broadcast, scatter, all_gather, reduce_scatter };
const char* name_of(CollectiveKind kind);

inline CollectiveKind kind_of(const ReduceOptions& options) {
  return options.root ? CollectiveKind::reduce : CollectiveKind::all_reduce;
}

/// Adds up operations by kind. Bus bytes follow nccl-tests (doc/PERFORMANCE.md): payload times 2 (R - 1) / R for an
/// all-reduce, 1 for a reduce or broadcast, (R - 1) / R for a scatter, all-gather or reduce-scatter, whose payload is
/// that of all ranks.
class CommStats {
 public:
  explicit CommStats(int num_ranks) : num_ranks_(num_ranks) {}
  struct Seconds {
    double total = 0, exposed = 0;
    double skew = 0;  ///< NaN: unknown
  };
  void add(CollectiveKind kind, std::int64_t payload_bytes, const Seconds& seconds);
  const std::map<std::string, CommunicationTotals>& totals() const { return totals_; }

 private:
  int num_ranks_;
  std::map<std::string, CommunicationTotals> totals_;
};

}  // namespace multicard
