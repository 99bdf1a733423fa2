// Reading a model's weights, whole or in parts.

#include <algorithm>
#include <span>

#include <ATen/core/grad_mode.h>

#include "device/StagedCopies.hpp"
#include "state/ModelFolder.hpp"

namespace multicard {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 20;

/// Copies 64 MB at a time and gives the source's pages back after each.
void copy_in_pieces(StagedCopies& copies, const at::Tensor& target, const at::Tensor& source,
                    std::span<const std::byte> mapped) {
  if (!target.is_contiguous() || source.numel() == 0) {
    copies.copy(target, source);
    return SafetensorsFile::give_back(mapped);
  }
  const at::Tensor to = target.view(-1), from = source.view(-1);
  // Pages that were read count as this process's memory until they are given back; with a rank for each GPU that would
  // be the whole model several times over.
  const auto piece = static_cast<std::int64_t>(kPieceBytes / source.element_size());
  for (std::int64_t at = 0; at < from.numel(); at += piece) {
    const std::int64_t length = std::min(piece, from.numel() - at);
    copies.copy(to.narrow(0, at, length), from.narrow(0, at, length));
    const auto element = source.element_size();
    SafetensorsFile::give_back(
        mapped.subspan(static_cast<std::size_t>(at) * element, static_cast<std::size_t>(length) * element));
  }
}

}  // namespace

void ModelFolder::load_into(const NamedTensors& targets, const WeightSinks& sinks, OutputLayer output) const {
  if (output == OutputLayer::tied) require_one_matrix();
  std::vector<Copy> copies = match(targets, sinks, output);
  // In the order of the files, for one pass over a disk that may be slow to seek. All was matched before: where
  // anything is wrong, nothing is written.
  std::sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) {
    return std::pair(a.from->file, a.from->entry->bytes.data()) < std::pair(b.from->file, b.from->entry->bytes.data());
  });
  const at::NoGradGuard no_grad;
  StagedCopies staged;
  for (const Copy& copy : copies) {
    const std::string& name = copy.from->entry->name;
    const at::Tensor source = files_[copy.from->file].second->view(name);
    if (copy.sink)
      fill(*copy.sink, name);
    else
      copy_in_pieces(staged, *copy.to, source, copy.from->entry->bytes);
  }
  staged.finish();
}

void ModelFolder::fill(const WeightSink& sink, const std::string& name) const {
  if (is_packed(name))
    sink.take(stored_weight(name));
  else
    sink.fill(view(name));
  give_back(name);
}

std::uint64_t ModelFolder::load_range(const WeightRange& range, OutputLayer output) const {
  constexpr std::int64_t kMost = std::int64_t{8} << 20;  // elements: what is misaligned is copied once more
  const Place& from = place(stored_name(range.name, output).value());
  const std::int64_t count = range.values.numel();
  std::uint64_t bytes = 0;
  StagedCopies staged;
  for (std::int64_t first = 0; first < count; first += kMost) {
    const std::int64_t now = std::min(kMost, count - first), at = range.first + first;
    const at::Tensor source = files_[from.file].second->view(from.entry->name, at, now);
    const std::size_t width = source.element_size();
    copy_in_pieces(staged, range.values.narrow(0, first, now), source,
                   from.entry->bytes.subspan(static_cast<std::size_t>(at) * width, source.nbytes()));
    bytes += source.nbytes();
  }
  staged.finish();
  return bytes;
}

std::uint64_t ModelFolder::load_sink(const WeightSink& sink, OutputLayer output) const {
  const std::string name = stored_name(sink.name, output).value();
  std::uint64_t bytes = 0;
  for (const std::string& part : parts_of_packed(name))
    bytes += place(part).entry->bytes.size();
  fill(sink, name);
  return bytes;
}

}  // namespace multicard
