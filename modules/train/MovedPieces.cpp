#include "train/MovedPieces.hpp"

#include <cstddef>
#include <set>
#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include "comm/Agreement.hpp"
#include "device/DeviceError.hpp"
#include "device/StagedCopies.hpp"
#include "dist/RangeExchange.hpp"

namespace multicard {

std::vector<TensorPiece> held_pieces(const CheckpointParts& parts) {
  const at::NoGradGuard no_grad;
  std::vector<TensorPiece> held;
  for (const CheckpointPart& part : parts)
    for (const auto& [name, first, values] : part.pieces)
      held.push_back({part.file + "/" + name, first, at::empty_like(values, at::kCPU).copy_(values)});
  return held;
}

std::vector<TensorPiece> wanted_pieces(const CheckpointParts& parts, const TrainingState& state) {
  std::vector<TensorPiece> wanted;
  for (const CheckpointPart& part : parts) {
    std::set<std::string> missing;
    for (const auto& [name, tensor] : tensors_in(state, part.file))
      if (tensor.is_meta()) missing.insert(name);
    for (const auto& [name, tensor] : part.tensors)
      if (missing.contains(name) && !tensor.is_meta())
        wanted.push_back({part.file + "/" + name, 0, tensor.detach().view({-1})});
    for (const auto& [name, first, values] : part.pieces)
      if (missing.contains(name)) wanted.push_back({part.file + "/" + name, first, values});
  }
  return wanted;
}

void exchange_pieces(const std::vector<TensorPiece>& held, const std::vector<TensorPiece>& wanted,
                     const Communicator& communicator) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> arrived;
  agreed(communicator, [&] {  // memory may run out
    with_known_errors([&] {
      for (const TensorPiece& piece : wanted)
        arrived.push_back(piece.values.is_cpu() ? piece.values : at::empty_like(piece.values, at::kCPU));
    });
  });
  HeldRanges from;
  for (const auto& [name, first, values] : held)
    from.push_back({name,
                    static_cast<std::uint64_t>(first) * values.element_size(),
                    {static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()}});
  WantedRanges to;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    to.push_back({wanted[i].name,
                  static_cast<std::uint64_t>(wanted[i].first) * arrived[i].element_size(),
                  {static_cast<std::byte*>(arrived[i].mutable_data_ptr()), arrived[i].nbytes()}});
  exchange_ranges(from, to, communicator);
  StagedCopies copies;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!wanted[i].values.is_cpu()) copies.copy(wanted[i].values, arrived[i]);
  copies.finish();
}

}  // namespace multicard
