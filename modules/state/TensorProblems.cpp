#include "state/TensorProblems.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "state/WeightKeys.hpp"

namespace multicard {

std::string shape_text(at::IntArrayRef shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape)
    extents.push_back(std::to_string(extent));
  return fmt::format("[{}]", join(extents, ", "));
}

std::string example_text(const std::vector<std::string>& names) {
  // Three names show what kind is missing; a model of another architecture would lack hundreds.
  const std::size_t shown = std::min<std::size_t>(names.size(), 3);
  const std::string text = join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)}, ", ");
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

void refuse_missing(const std::string& origin, const std::vector<std::string>& missing) {
  if (missing.empty()) return;
  throw DataError(fmt::format("{} lacks tensors of the model", origin), example_text(missing),
                  "Check that it was made for this model.");
}

void refuse_unsupported(const std::string& origin, const std::vector<std::string>& unknown) {
  for (const std::string& name : unknown)
    if (const ForeignKey* known = known_tensor(name); known && known->use == KeyUse::unsupported)
      throw DataError(fmt::format("{} holds {}", origin, known->note), fmt::format("its tensors include {}", name),
                      "Use the folder of the whole model.");
}

void refuse_unknown(const std::string& origin, const std::vector<std::string>& unknown) {
  if (unknown.empty()) return;
  throw DataError(fmt::format("{} holds tensors that the model does not have", origin), example_text(unknown),
                  "Check that it was made for this model.");
}

void refuse_shape(const std::string& origin, const std::string& name, at::IntArrayRef stored, at::IntArrayRef wanted,
                  const std::string& suggestion) {
  if (stored == wanted) return;
  throw DataError(fmt::format("tensor {} of {} does not fit the model", name, origin),
                  fmt::format("its shape is {}, the model's is {}", shape_text(stored), shape_text(wanted)),
                  suggestion);
}

void refuse_dtype(const std::string& origin, const std::string& name, const std::string& dtype) {
  throw DataError(fmt::format("cannot use tensor {} of {}", name, origin), fmt::format("its dtype is {}", dtype),
                  "Convert it to F32 or BF16.");
}

}  // namespace multicard
