#pragma once
/// \file Adding up what the losses of a step carry besides their value.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "train/Model.hpp"
#include "train/StepStatus.hpp"

namespace multicard {

/// The named sums of one rank, micro-batch by micro-batch. Tensors are added on their device, in the status that is
/// summed over ranks anyway; numbers stay on the host until the last micro-batch, so that each costs at most one write.
class LossSums {
 public:
  explicit LossSums(const std::vector<SumKind>& kinds);

  /// Metrics: the sums that a status must have room for.
  std::int64_t num_metrics() const { return static_cast<std::int64_t>(metrics_.size()); }
  /// Adds those of one micro-batch. \throws std::logic_error for a name that the model did not announce, and for a
  /// count that is a tensor
  void add(const Loss& loss, const StepStatus& status);
  /// After the last micro-batch: puts numbers into `status`, and returns the counts of this rank. All are zero
  /// again then.
  std::map<std::string, std::int64_t> finish(const StepStatus& status);
  /// The metrics among the values of a status, by name.
  std::vector<std::pair<std::string, double>> named(const std::vector<double>& status) const;

 private:
  void add_metric(std::size_t number, const NamedSum& sum, const StepStatus& status);

  std::vector<std::string> metrics_;
  std::vector<double> numbers_;  ///< of the metrics, as far as they are numbers
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace multicard
