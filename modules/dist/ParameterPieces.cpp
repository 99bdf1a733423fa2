#include "dist/ParameterPieces.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "dist/BucketPlan.hpp"

namespace multicard {

// What ranks send of a bucket is packed: pieces one after the other, each at a multiple of kPacking bytes. All ranks
// know what all send, and send as much as the one that has most: so one all-gather a bucket serves values, moments of
// any type and the scales of blocks.

namespace {

constexpr std::int64_t kPacking = 16;
/// As Adamw8bitOptimizer has it, at least.
constexpr std::int64_t kFewElements = 4096;

std::int64_t packed_size(std::int64_t bytes) {
  return (bytes + kPacking - 1) / kPacking * kPacking;
}

std::int64_t divided_up(std::int64_t elements, std::int64_t by) {
  return (elements + by - 1) / by;
}

/// Its elements in the order of its memory, in which it has no gaps.
at::Tensor flat_memory(const at::Tensor& tensor) {
  if (!tensor.is_non_overlapping_and_dense()) throw std::logic_error("a parameter that is split has gaps in memory");
  return tensor.detach().as_strided({tensor.numel()}, {1}, tensor.storage_offset());
}

}  // namespace

ParameterPieces::ParameterPieces(const std::vector<at::Tensor>& parameters, const GradientReducer& reducer,
                                 TensorCollectives& collectives)
    : collectives_(collectives) {
  const at::NoGradGuard no_grad;
  const BucketPlan& plan = reducer.plan();
  for (const BucketPlan::Bucket& bucket : plan.buckets)
    buckets_.push_back({bucket.numel / collectives.size(), {}});
  std::int64_t most = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const BucketPlan::Place& place = plan.places[i];
    const std::int64_t offset = plan.buckets[place.bucket].offset;
    buckets_[place.bucket].at.emplace_back(i, place.offset - offset);
    num_elements_.push_back(parameters[i].numel());
    shared_.whole.push_back(flat_memory(parameters[i]));
  }
  std::map<at::ScalarType, at::Tensor> flats;
  for (const at::Tensor& flat : reducer.flats())
    flats[flat.scalar_type()] = flat;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (const ParameterPiece& piece : pieces_of(bucket, collectives.rank())) {
      own_.push_back(piece);
      values_.push_back(shared_.whole[piece.parameter].narrow(0, piece.first, piece.count));
      gradients_.push_back(flats.at(plan.buckets[bucket].type)
                               .narrow(0, plan.places[piece.parameter].offset + piece.first, piece.count));
    }
    for (int rank = 0; rank < collectives.size(); ++rank)
      most = std::max(most,
                      most_sent(bucket, rank, static_cast<std::int64_t>(c10::elementSize(plan.buckets[bucket].type))));
  }
  shared_.own = values_;
  sent_ = collectives.allocate_flat(packed_size(most), at::kByte);
  received_ = at::empty({packed_size(most) * collectives.size()}, sent_.options());
}

std::vector<ParameterPiece> ParameterPieces::pieces_of(std::size_t bucket, int rank) const {
  const Bucket& cut = buckets_[bucket];
  const std::int64_t begin = rank * cut.part, end = begin + cut.part;
  std::vector<ParameterPiece> pieces;
  for (const auto& [parameter, at] : cut.at) {
    const std::int64_t first = std::max(at, begin), last = std::min(at + num_elements_[parameter], end);
    if (first < last) pieces.push_back({parameter, first - at, last - first});
  }
  return pieces;
}

/// Of values or of state. Moments of small parameters may be float32 where values are bfloat16.
std::int64_t ParameterPieces::most_sent(std::size_t bucket, int rank, std::int64_t width) const {
  std::int64_t bytes = 0;
  for (const ParameterPiece& piece : pieces_of(bucket, rank)) {
    const bool is_small = num_elements_[piece.parameter] < kFewElements;
    bytes += packed_size(piece.count * (is_small ? std::max<std::int64_t>(width, sizeof(float)) : width));
  }
  return bytes;
}

std::vector<ParameterPieces::Packed> ParameterPieces::packed(std::size_t bucket, int rank, const State& state) const {
  std::vector<Packed> all;
  std::int64_t next = 0;
  for (const ParameterPiece& piece : pieces_of(bucket, rank)) {
    const at::Tensor& whole = state.whole[piece.parameter];
    if (!whole.defined()) continue;
    const std::int64_t bytes = divided_up(piece.count, state.ratio) * static_cast<std::int64_t>(whole.element_size());
    all.push_back({piece, next, bytes});
    next += packed_size(bytes);
  }
  return all;
}

void ParameterPieces::gather_bucket(std::size_t bucket, const State& state) {
  std::vector<std::vector<Packed>> of_ranks;
  std::int64_t most = 0;
  for (int rank = 0; rank < collectives_.size(); ++rank) {
    of_ranks.push_back(packed(bucket, rank, state));
    if (!of_ranks.back().empty())
      most = std::max(most, of_ranks.back().back().at + packed_size(of_ranks.back().back().bytes));
  }
  if (most == 0) return;
  const auto piece_in = [](const at::Tensor& memory, std::int64_t at, const Packed& packed, at::ScalarType type) {
    return memory.narrow(0, at + packed.at, packed.bytes).view(type);
  };
  for (const Packed& packed : of_ranks[static_cast<std::size_t>(collectives_.rank())]) {
    const auto same = std::find_if(own_.begin(), own_.end(), [&](const ParameterPiece& piece) {
      return piece.parameter == packed.piece.parameter;
    });
    const at::Tensor& own = state.own[static_cast<std::size_t>(same - own_.begin())];
    piece_in(sent_, 0, packed, own.scalar_type()).copy_(own);
  }
  collectives_.start_all_gather(sent_.narrow(0, 0, most), received_.narrow(0, 0, most * collectives_.size()))->wait();
  for (int rank = 0; rank < collectives_.size(); ++rank)
    for (const Packed& packed : of_ranks[static_cast<std::size_t>(rank)]) {
      const at::Tensor& whole = state.whole[packed.piece.parameter];
      if (whole.is_meta()) continue;
      whole.narrow(0, packed.piece.first / state.ratio, divided_up(packed.piece.count, state.ratio))
          .copy_(piece_in(received_, rank * most, packed, whole.scalar_type()));
    }
}

void ParameterPieces::gather(const State& state) {
  const at::NoGradGuard no_grad;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    gather_bucket(bucket, state);
}

void ParameterPieces::share() {
  gather(shared_);
}

}  // namespace multicard
