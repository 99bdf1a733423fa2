#include "dist/SplitParameters.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>

#include "dist/BucketPlan.hpp"

namespace multicard {

ElementRange ParameterRow::kept_of(std::size_t member, int rank) const {
  const auto& [parameter, begin] = members[member];
  const std::int64_t first = std::max(begin, rank * part), end = std::min(begin + parameter.numel(), (rank + 1) * part);
  return first < end ? ElementRange{first - begin, end - first} : ElementRange{};
}

at::Tensor ParameterRow::piece_of(std::size_t member, const at::Tensor& of) const {
  const ElementRange kept = kept_of(member);
  return of.narrow(0, members[member].second + kept.first - collectives->rank() * part, kept.count);
}

std::vector<ParameterRow> rows_of(const GradientReducer& reducer, const std::vector<at::Tensor>& parameters,
                                  TensorCollectives& collectives) {
  const BucketPlan& plan = reducer.plan();
  std::map<at::ScalarType, at::Tensor> flats;
  for (const at::Tensor& flat : reducer.flats())
    flats[flat.scalar_type()] = flat;
  std::vector<ParameterRow> rows;
  for (const BucketPlan::Bucket& bucket : plan.buckets) {
    const std::int64_t part = bucket.numel / collectives.size();
    const at::Tensor& flat = flats.at(bucket.type);
    rows.push_back({&collectives, part, {}, flat.narrow(0, bucket.offset + collectives.rank() * part, part)});
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const BucketPlan::Place& place = plan.places[i];
    rows[place.bucket].members.emplace_back(parameters[i], place.offset - plan.buckets[place.bucket].offset);
  }
  return rows;
}

std::set<const at::TensorImpl*> members_of(const std::vector<ParameterRow>& rows) {
  std::set<const at::TensorImpl*> members;
  for (const ParameterRow& row : rows)
    for (const auto& [parameter, begin] : row.members)
      members.insert(parameter.unsafeGetTensorImpl());
  return members;
}

at::Tensor in_memory_order(const at::Tensor& dense) {
  if (!dense.is_non_overlapping_and_dense()) throw std::logic_error("a tensor that is split has gaps in memory");
  return dense.as_strided({dense.numel()}, {1}, dense.storage_offset());
}

at::Tensor in_memory_order(const at::Tensor& source, const at::Tensor& like) {
  // A dimension of one element may have any stride.
  if (source.strides() == like.strides() || (source.is_contiguous() && like.is_contiguous()))
    return in_memory_order(source);
  return in_memory_order(at::empty_strided(like.sizes(), like.strides(), source.options()).copy_(source));
}

void copy_into(SplitParameters& parameters, const std::function<at::Tensor(const at::Tensor& parameter)>& source) {
  const at::NoGradGuard no_grad;
  for (const ParameterRow& row : parameters.rows())
    for (std::size_t i = 0; i < row.members.size(); ++i) {
      const ElementRange kept = row.kept_of(i);
      if (kept.count == 0) continue;
      const at::Tensor& parameter = row.members[i].first;
      row.piece_of(i, row.values)
          .copy_(in_memory_order(source(parameter), parameter).narrow(0, kept.first, kept.count));
    }
  parameters.values_changed();
}

}  // namespace multicard
