#include "dist/ParameterPieces.hpp"

#include <algorithm>
#include <map>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

namespace multicard {

// What ranks send of a row is packed: pieces one after the other, each at a multiple of kPacking bytes. All ranks
// know what all send, and send as much as the one that has most: so one all-gather a row serves values, moments of
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

}  // namespace

ParameterPieces::ParameterPieces(const std::vector<at::Tensor>& parameters, std::vector<ParameterRow> rows,
                                 TensorCollectives& collectives)
    : rows_(std::move(rows)) {
  const at::NoGradGuard no_grad;
  std::map<const at::TensorImpl*, std::size_t> numbers;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    numbers[parameters[i].unsafeGetTensorImpl()] = i;
  shared_.whole.resize(parameters.size());
  std::int64_t most = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const ParameterRow& cut = rows_[row];
    numbers_.emplace_back();
    for (std::size_t member = 0; member < cut.members.size(); ++member) {
      const at::Tensor& parameter = cut.members[member].first;
      const std::size_t number = numbers.at(parameter.unsafeGetTensorImpl());
      numbers_.back().push_back(number);
      if (!cut.values.defined()) shared_.whole[number] = in_memory_order(parameter.detach());
      const ElementRange kept = cut.kept_of(member);
      if (kept.count == 0) continue;
      own_.push_back({number, kept.first, kept.count, cut.is_first_copy});
      values_.push_back(cut.values.defined() ? cut.piece_of(member, cut.values)
                                             : shared_.whole[number].narrow(0, kept.first, kept.count));
      gradients_.push_back(cut.piece_of(member, cut.gradients));
    }
    for (int rank = 0; rank < collectives.size() && !cut.values.defined(); ++rank)
      most = std::max(most, most_sent(row, rank));
  }
  shared_.own = values_;
  sent_ = collectives.allocate_flat(packed_size(most), at::kByte);
  received_ = at::empty({packed_size(most) * collectives.size()}, sent_.options());
}

std::vector<ParameterPiece> ParameterPieces::pieces_of(std::size_t row, int rank) const {
  std::vector<ParameterPiece> pieces;
  for (std::size_t member = 0; member < numbers_[row].size(); ++member)
    if (const ElementRange kept = rows_[row].kept_of(member, rank); kept.count > 0)
      pieces.push_back({numbers_[row][member], kept.first, kept.count});
  return pieces;
}

/// Of values or of state. Moments of small parameters may be float32 where values are bfloat16.
std::int64_t ParameterPieces::most_sent(std::size_t row, int rank) const {
  std::int64_t bytes = 0;
  for (std::size_t member = 0; member < numbers_[row].size(); ++member) {
    const at::Tensor& parameter = rows_[row].members[member].first;
    const auto width = static_cast<std::int64_t>(parameter.element_size());
    const std::int64_t count = rows_[row].kept_of(member, rank).count;
    bytes +=
        packed_size(count * (parameter.numel() < kFewElements ? std::max<std::int64_t>(width, sizeof(float)) : width));
  }
  return bytes;
}

std::vector<ParameterPieces::Packed> ParameterPieces::packed(std::size_t row, int rank, const State& state) const {
  std::vector<Packed> all;
  std::int64_t next = 0;
  for (const ParameterPiece& piece : pieces_of(row, rank)) {
    const at::Tensor& whole = state.whole[piece.parameter];
    if (!whole.defined()) continue;
    const std::int64_t bytes = divided_up(piece.count, state.ratio) * static_cast<std::int64_t>(whole.element_size());
    all.push_back({piece, next, bytes});
    next += packed_size(bytes);
  }
  return all;
}

/// What rows without whole parameters need is there for as long as they are gathered.
std::pair<at::Tensor, at::Tensor> ParameterPieces::room_for(std::int64_t bytes, int num_ranks) const {
  const std::int64_t all = bytes * num_ranks;
  if (bytes <= sent_.numel()) return {sent_.narrow(0, 0, bytes), received_.narrow(0, 0, all)};
  return {at::empty({bytes}, sent_.options()), at::empty({all}, sent_.options())};
}

void ParameterPieces::gather_row(std::size_t row, const State& state) {
  if (!rows_[row].is_first_copy) return;
  TensorCollectives& collectives = *rows_[row].collectives;
  std::vector<std::vector<Packed>> of_ranks;
  std::int64_t most = 0;
  for (int rank = 0; rank < collectives.size(); ++rank) {
    of_ranks.push_back(packed(row, rank, state));
    if (!of_ranks.back().empty())
      most = std::max(most, of_ranks.back().back().at + packed_size(of_ranks.back().back().bytes));
  }
  if (most == 0) return;
  const auto [sent, received] = room_for(most, collectives.size());
  const auto piece_in = [](const at::Tensor& memory, std::int64_t at, const Packed& packed, at::ScalarType type) {
    return memory.narrow(0, at + packed.at, packed.bytes).view(type);
  };
  for (const Packed& packed : of_ranks[static_cast<std::size_t>(collectives.rank())]) {
    const auto same = std::find_if(own_.begin(), own_.end(), [&](const ParameterPiece& piece) {
      return piece.parameter == packed.piece.parameter;
    });
    const at::Tensor& own = state.own[static_cast<std::size_t>(same - own_.begin())];
    piece_in(sent, 0, packed, own.scalar_type()).copy_(own);
  }
  collectives.start_all_gather(sent, received)->wait();
  for (int rank = 0; rank < collectives.size(); ++rank)
    for (const Packed& packed : of_ranks[static_cast<std::size_t>(rank)]) {
      const at::Tensor& whole = state.whole[packed.piece.parameter];
      if (whole.is_meta()) continue;
      whole.narrow(0, packed.piece.first / state.ratio, divided_up(packed.piece.count, state.ratio))
          .copy_(piece_in(received, rank * most, packed, whole.scalar_type()));
    }
}

void ParameterPieces::gather(const State& state) {
  const at::NoGradGuard no_grad;
  for (std::size_t row = 0; row < rows_.size(); ++row)
    gather_row(row, state);
}

void ParameterPieces::share() {
  const at::NoGradGuard no_grad;
  for (std::size_t row = 0; row < rows_.size(); ++row)
    if (!rows_[row].values.defined()) gather_row(row, shared_);
}

}  // namespace multicard
