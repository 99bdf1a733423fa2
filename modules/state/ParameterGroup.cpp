#include "state/ParameterGroup.hpp"

#include <algorithm>
#include <utility>

namespace multicard {

namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string_view block_of(std::string_view name) {
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    if (is_number(name.substr(begin, end - begin))) return name.substr(0, end);
    begin = end + 1;
  }
  const std::size_t last = name.rfind('.');
  return last == std::string_view::npos ? name : name.substr(0, last);
}

ParameterGroups::ParameterGroups(NamedTensors parameters, Decay decay) : parameters_(std::move(parameters)) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& tensor = parameters_[i].tensor;
    const std::string_view block = block_of(parameters_[i].name);
    const bool decays = decay == Decay::all || tensor.dim() > 1;
    const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const ParameterGroup& known) {
      return known.block == block && known.dtype == tensor.scalar_type() && known.decays == decays;
    });
    if (group != groups_.end())
      group->members.push_back(i);
    else
      groups_.push_back({std::string(block), tensor.scalar_type(), decays, {i}});
  }
}

std::vector<at::Tensor> ParameterGroups::tensors() const {
  std::vector<at::Tensor> tensors;
  for (const ParameterGroup& group : groups_)
    for (const std::size_t i : group.members)
      tensors.push_back(parameters_[i].tensor);
  return tensors;
}

std::vector<std::string> ParameterGroups::names() const {
  std::vector<std::string> names;
  for (const ParameterGroup& group : groups_)
    for (const std::size_t i : group.members)
      names.push_back(parameters_[i].name);
  return names;
}

}  // namespace multicard
