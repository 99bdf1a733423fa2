#include "train/TrainingState.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include "comm/Agreement.hpp"
#include "comm/Packing.hpp"
#include "device/DeviceError.hpp"
#include "device/StagedCopies.hpp"
#include "dist/TensorCollectives.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

namespace {

/// A history with its rows as bytes.
struct PackedHistory {
  std::map<std::string, std::string> rows;
  std::map<std::string, std::vector<double>> values;
  std::map<std::string, std::vector<std::int64_t>> steps;
  std::vector<Segment> segments;
  std::int64_t first_step = 0, num_steps = 0;
  int num_ranks = 0;
};

PackedHistory packed(const History& history) {
  PackedHistory to;
  for (const auto& [row, record] : history.rows)
    to.rows[std::to_string(row)] = to_bytes(record);
  for (const auto& [name, series] : history.metrics) {
    to.values[name] = series.values;
    to.steps[name] = series.steps;
  }
  to.segments = history.segments;
  std::tie(to.first_step, to.num_steps, to.num_ranks) =
      std::tie(history.first_step, history.num_steps, history.num_ranks);
  return to;
}

History unpacked(const PackedHistory& from) {
  History history;
  for (const auto& [row, bytes] : from.rows)
    history.rows[std::stoi(row)] = record_from_bytes(bytes);
  for (const auto& [name, values] : from.values)
    history.metrics[name] = {values, from.steps.at(name)};
  history.segments = from.segments;
  std::tie(history.first_step, history.num_steps, history.num_ranks) =
      std::tie(from.first_step, from.num_steps, from.num_ranks);
  return history;
}

/// Calls `visit` with every member but the tensors, in one order for a Packer and an Unpacker; the history, where there
/// is one, stands in `history`. The files that are written with a checkpoint's tensors are made again by the rank that
/// writes the next.
template <class State, class Visit>
void visit_members(State& state, bool& has_history, PackedHistory& history, Visit& visit) {
  auto& trainer = state.trainer;
  visit(trainer.step);
  visit(trainer.samples_seen);
  visit(trainer.global_batch);
  visit(trainer.deck);
  visit(trainer.extra);
  visit(trainer.text);
  visit.optional(trainer.origin, [&](auto& origin) {
    visit(origin.path);
    visit(origin.sha256);
  });
  visit(state.source);
  visit(has_history);
  if (has_history) {
    visit(history.rows);
    visit(history.values);
    visit(history.steps);
    visit(history.segments);
    visit(history.first_step);
    visit(history.num_steps);
    visit(history.num_ranks);
  }
  visit.entries(state.tables, [&](auto& table) {
    visit(table.text);
    visit(table.integers);
    visit(table.reals);
    visit(table.merge);
  });
  visit.optional(state.best, visit);
  visit(state.has_begun);
  visit(state.stop_requested);
  visit(state.saved_step);
}

std::string pack(const TrainingState& state) {
  bool has_history = state.history.has_value();
  PackedHistory history = has_history ? packed(*state.history) : PackedHistory{};
  Packer pack;
  visit_members(state, has_history, history, pack);
  return pack.take();
}

void unpack(TrainingState& state, const std::string& bytes) {
  bool has_history = false;
  PackedHistory history;
  Unpacker take(bytes);
  visit_members(state, has_history, history, take);
  state.history.reset();
  if (has_history) state.history = unpacked(history);
}

/// Names, types and layouts of the tensors.
std::string pack_layout(const CheckpointParts& parts) {
  Packer pack;
  pack(parts.size());
  for (const CheckpointPart& part : parts) {
    pack(part.file);
    pack(part.tensors.size());
    for (const NamedTensor& entry : part.tensors) {
      pack(entry.name);
      pack(entry.tensor.is_meta());
      pack(entry.tensor.scalar_type());
      pack(entry.tensor.sizes().vec());
      pack(entry.tensor.strides().vec());
    }
  }
  return pack.take();
}

/// Tensors of that layout, uninitialised or without memory.
CheckpointParts make_parts(const std::string& layout) {
  Unpacker take(layout);
  std::size_t num_parts = 0, num_tensors = 0;
  take(num_parts);
  CheckpointParts parts(num_parts);
  for (CheckpointPart& part : parts) {
    take(part.file);
    take(num_tensors);
    for (; num_tensors > 0; --num_tensors) {
      std::string name;
      bool is_meta = false;
      at::ScalarType type{};
      std::vector<std::int64_t> sizes, strides;
      take(name);
      take(is_meta);
      take(type);
      take(sizes);
      take(strides);
      const auto options = at::TensorOptions().dtype(type).device(is_meta ? at::kMeta : at::kCPU);
      part.tensors.push_back({name, at::empty_strided(sizes, strides, options)});
    }
  }
  return parts;
}

}  // namespace

void broadcast(TrainingState& state, const Communicator& communicator, int root) {
  // Three parts: all values as bytes, the layout of the tensors, and then the tensors themselves, for which every rank
  // has made room by then: a broadcast goes into memory of equal types and strides.
  const bool is_root = communicator.rank() == root;
  const std::string values = communicator.broadcast(is_root ? pack(state) : std::string(), root);
  const std::string layout = communicator.broadcast(is_root ? pack_layout(state.parts) : std::string(), root);
  agreed(communicator, [&] {  // memory may run out
    if (is_root) return;
    unpack(state, values);
    with_known_errors([&] { state.parts = make_parts(layout); });
  });
  std::vector<at::Tensor> tensors;
  for (const CheckpointPart& part : state.parts)
    for (const NamedTensor& entry : part.tensors)
      if (!entry.tensor.is_meta()) tensors.push_back(entry.tensor);
  const auto collectives = make_collectives(Backend::automatic, communicator, at::kCPU);
  broadcast_tensors(tensors, *collectives, root);
}

const NamedTensors& tensors_in(const TrainingState& state, const std::string& file) {
  for (const CheckpointPart& part : state.parts)
    if (part.file == file) return part.tensors;
  throw std::logic_error("the training state has no " + file);
}

void copy_by_name(const NamedTensors& targets, const NamedTensors& sources, SplitParameters* split) {
  const at::NoGradGuard no_grad;
  StagedCopies copies;
  std::map<std::string, at::Tensor> by_name;
  for (const NamedTensor& source : sources)
    by_name[source.name] = source.tensor;
  std::set<const at::TensorImpl*> in_parts;
  if (split != nullptr) in_parts = members_of(split->rows());
  std::map<const at::TensorImpl*, at::Tensor> of_parts;
  for (const NamedTensor& target : targets) {
    const auto found = by_name.find(target.name);
    if (found == by_name.end() && target.name.ends_with("num_batches_tracked")) continue;  // older files lack it
    if (found == by_name.end() || found->second.sizes() != target.tensor.sizes())
      throw std::logic_error(fmt::format("the training state has no {} of that shape", target.name));
    if (found->second.is_meta()) continue;
    if (in_parts.contains(target.tensor.unsafeGetTensorImpl()))
      of_parts[target.tensor.unsafeGetTensorImpl()] = found->second;
    else
      copies.copy(target.tensor, found->second);
  }
  copies.finish();
  if (!of_parts.empty())
    copy_into(*split, [&](const at::Tensor& parameter) { return of_parts.at(parameter.unsafeGetTensorImpl()); });
}

void copy_into(const CheckpointParts& parts, const TrainingState& state) {
  for (const CheckpointPart& part : parts)
    copy_by_name(part.tensors, tensors_in(state, part.file));
}

CheckpointParts read_parts(const std::string& checkpoint, const CheckpointParts& parts) {
  CheckpointParts found;
  for (const CheckpointPart& part : parts) {
    const TensorFile file(checkpoint + "/" + part.file);
    check_matches(part.tensors, file);
    found.push_back({part.file, {}});
    for (const NamedTensor& entry : part.tensors)
      // Views of the mapped file: nothing is read before copy_into() takes it to where it belongs.
      if (file.contains(entry.name)) found.back().tensors.push_back({entry.name, file.view(entry.name)});
  }
  return found;
}

CheckpointParts host_copies(const CheckpointParts& parts) {
  const at::NoGradGuard no_grad;
  CheckpointParts copies;
  for (const CheckpointPart& part : parts) {
    copies.push_back({part.file, {}});
    for (const NamedTensor& entry : part.tensors) {
      const at::Device device = entry.tensor.is_meta() ? at::kMeta : at::kCPU;
      copies.back().tensors.push_back(
          {entry.name, at::empty_like(entry.tensor, entry.tensor.options().device(device).requires_grad(false))});
    }
    for (std::size_t i = 0; i < part.tensors.size(); ++i)
      if (!part.tensors[i].tensor.is_meta()) copies.back().tensors[i].tensor.copy_(part.tensors[i].tensor);
  }
  return copies;
}

}  // namespace multicard
