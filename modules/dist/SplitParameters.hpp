#pragma once
/// \file Parameters of which each rank updates, or holds, a part.

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dist/GradientReducer.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Elements of a parameter that follow each other in memory.
struct ElementRange {
  std::int64_t first = 0, count = 0;
};

/// Parameters that follow each other in a row of elements, which is cut into one equal part for each rank. Parts begin
/// at multiples of BucketPlan::kPartAlignment elements.
struct ParameterRow {
  TensorCollectives* collectives = nullptr;                  ///< of these ranks
  std::int64_t part = 0;                                     ///< elements
  std::vector<std::pair<at::Tensor, std::int64_t>> members;  ///< and where each begins
  at::Tensor gradients;                                      ///< of this rank's part, one dimension
  at::Tensor values = {};     ///< likewise; undefined where each rank has the parameters whole
  bool is_first_copy = true;  ///< of those that other ranks have too

  /// The elements of a member that are in the part of a rank; of none the count is 0.
  ElementRange kept_of(std::size_t member, int rank) const;
  /// Those of this rank.
  ElementRange kept_of(std::size_t member) const { return kept_of(member, collectives->rank()); }
  /// Where these are in values, or in gradients.
  at::Tensor piece_of(std::size_t member, const at::Tensor& of) const;
};

/// The rows of a reducer with Destination::parts. \param parameters of the reducer, in its order
std::vector<ParameterRow> rows_of(const GradientReducer& reducer, const std::vector<at::Tensor>& parameters,
                                  TensorCollectives& collectives);

/// How long a rank has what was gathered: while it computes with it, or until values change.
enum class Gathered { while_computed, until_changed };

/// The ranks that one copy of something is split over.
struct ShardRanks {
  TensorCollectives* group = nullptr;   ///< null: nothing is split
  TensorCollectives* copies = nullptr;  ///< of the ranks that hold the same part of other copies; null: there is one
  Gathered gathered = Gathered::while_computed;
};

/// Parameters that no rank holds whole: leaves that have memory only while they are computed with.
class SplitParameters {
 public:
  virtual ~SplitParameters() = default;
  virtual const ShardRanks& ranks() const = 0;
  /// With values, and gradients where they are trained.
  virtual std::vector<ParameterRow> rows() const = 0;
  /// Sets what has been summed to zero. Each backward adds to it, on all ranks.
  virtual void zero_gradients() = 0;
  /// Collective, once for what was set to zero. Waits until gradients hold the sums over all ranks.
  virtual void finish_gradients() = 0;
  /// What is gathered from now on has the values of now.
  virtual void values_changed() = 0;
  /// Bytes that this rank holds: parts, and room for what is gathered and summed.
  /// @{
  virtual std::int64_t value_bytes() const = 0;
  virtual std::int64_t gradient_bytes() const = 0;
  /// @}
  /// Bytes of all parameters.
  virtual std::int64_t whole_bytes() const = 0;
};

/// The parameters of the rows, as TensorImpl.
std::set<const at::TensorImpl*> members_of(const std::vector<ParameterRow>& rows);

/// The elements of a tensor in the order of its memory, in which it has no gaps: a view of one dimension.
at::Tensor in_memory_order(const at::Tensor& dense);
/// The elements of `source`, which has the sizes of `like`, in the order of the memory of `like`, without gaps: one
/// dimension. A view where `source` has that order.
at::Tensor in_memory_order(const at::Tensor& source, const at::Tensor& like);

/// Fills this rank's parts. \param source the whole of a parameter, in any order
void copy_into(SplitParameters& parameters, const std::function<at::Tensor(const at::Tensor& parameter)>& source);

}  // namespace multicard
