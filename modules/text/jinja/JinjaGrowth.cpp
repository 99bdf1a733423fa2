// What a template would write if a list ended earlier, found while it is rendered with the whole list.

#include <algorithm>

#include "text/jinja/JinjaRuntime.hpp"

namespace multicard {

/// What a rendering has changed so far. Values are shared, so that a copy costs as much as there are variables.
struct JinjaRuntime::State {
  std::vector<JinjaValue> values;
  std::vector<std::size_t> depths;
  std::vector<Saved> saved;
  std::vector<std::size_t> scopes;
  std::vector<JinjaNamespace> namespaces;
  std::size_t num_loops, num_written, num_generated, num_steps, spent;
  bool has_hidden_generation, is_flag_seen;
  int num_captures, num_levels;

  std::size_t num_values() const {
    std::size_t number = values.size() + saved.size();
    for (const JinjaNamespace& space : namespaces)
      number += space.members.size();
    return number;
  }
};

JinjaRuntime::State JinjaRuntime::state() const {
  return {values_,
          depths_,
          saved_,
          scopes_,
          {namespaces_.begin(), namespaces_.end()},
          loops_.size(),
          output_.text.size(),
          output_.generated.size(),
          num_steps_,
          spent_,
          output_.has_hidden_generation,
          is_flag_seen_,
          num_captures_,
          num_levels_};
}

void JinjaRuntime::go_back_to(State state) {
  num_ahead_ += work_since(state.num_steps, state.spent) + state.num_values();
  values_ = std::move(state.values);
  depths_ = std::move(state.depths);
  saved_ = std::move(state.saved);
  scopes_ = std::move(state.scopes);
  namespaces_.resize(state.namespaces.size());
  std::move(state.namespaces.begin(), state.namespaces.end(), namespaces_.begin());
  loops_.resize(state.num_loops);
  output_.text.resize(state.num_written);
  output_.generated.resize(state.num_generated);
  output_.has_hidden_generation = state.has_hidden_generation;
  num_steps_ = state.num_steps;
  spent_ = state.spent;
  is_flag_seen_ = state.is_flag_seen;
  num_captures_ = state.num_captures;
  num_levels_ = state.num_levels;
  for (const std::shared_ptr<const JinjaList>& generator : used_ahead_)
    generator->is_used_up = false;
  used_ahead_.clear();
}

/// The list, or a part of it, as it is where the list has `length` items.
std::shared_ptr<const JinjaList> JinjaRuntime::ended(const JinjaList& list, std::size_t length) {
  JinjaList some = list.part(0, std::min(length - std::min(length, list.num_before), list.items.size()));
  some.growing = nullptr;
  return std::make_shared<const JinjaList>(std::move(some));
}

/// Ends the list after `length` items wherever a variable or a namespace has it or a part of it. Nothing else can: to
/// put it into another value counts as having seen its end.
void JinjaRuntime::shorten(std::size_t length) {
  const auto shorten_one = [&](JinjaValue& value) {
    if (const JinjaList* list = value.growing_list()) value = ended(*list, length);
  };
  for (JinjaValue& value : values_)
    shorten_one(value);
  for (Saved& one : saved_)
    shorten_one(one.value);
  for (JinjaNamespace& space : namespaces_)
    for (auto& [name, value] : space.members)
      shorten_one(value);
}

bool JinjaRuntime::grows(const Node& loop, const JinjaValue& value) const {
  const auto& all = program_.root->children;
  return value.growing_list() && loop.more.empty() && num_captures_ == 0 &&
         std::any_of(all.begin(), all.end(), [&](const auto& child) { return child.get() == &loop; });
}

/// Before an item of the list: is it to be the last one?
void JinjaRuntime::look_ahead(const Node& node, JinjaLoop& loop) {
  const std::vector<JinjaGrowth::End>& wanted = growth_.wanted;
  const std::size_t length = loop.items->num_before + loop.index + 1;
  while (num_looked_ < wanted.size() && wanted[num_looked_].length < length)
    ++num_looked_;
  for (; num_looked_ < wanted.size() && wanted[num_looked_].length == length; ++num_looked_) {
    const bool is_same = growing_.least <= length && (!is_flag_seen_ || wanted[num_looked_].flag == whole_flag_);
    constexpr std::size_t kMostNamespaces = 64;  // are copied each time
    if (is_same && namespaces_.size() <= kMostNamespaces)
      output_.beginnings[num_looked_] = beginning(node, loop, wanted[num_looked_]);
  }
}

JinjaBeginning JinjaRuntime::beginning(const Node& node, JinjaLoop& loop, const JinjaGrowth::End& end) {
  if (num_ahead_ > work_.most)
    throw JinjaError("its answers are found by rendering it up to each of them, and it has too many messages for that");
  State before = state();
  const JinjaLoop whole = loop;
  JinjaBeginning result{output_.text.size(), {}};
  shorten(end.length);
  loop.items = ended(*whole.items, end.length);
  if (flag_symbol_ < values_.size() && end.flag != whole_flag_) values_[flag_symbol_] = end.flag;
  is_ahead_ = true;
  try {
    render_item(node, loop);
    const auto& all = program_.root->children;
    auto next = std::find_if(all.begin(), all.end(), [&](const auto& child) { return child.get() == &node; });
    while (++next != all.end())
      render(**next);
    result.rest = output_.text.substr(result.shared);
    num_ahead_ += result.rest->size() / 4;  // stays in memory
  } catch (const JinjaError&) {
    // The template objects to a conversation that ends here.
  }
  is_ahead_ = false;
  loop = whole;
  go_back_to(std::move(before));
  return result;
}

}  // namespace multicard
