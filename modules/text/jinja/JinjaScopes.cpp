#include "text/jinja/JinjaScopes.hpp"

#include <algorithm>

namespace multicard {

void JinjaScopes::open() {
  scopes_.push_back({saved_.size(), innermost_});
  innermost_ = scopes_.size();
}

// Values live in one row by symbol, and a scope remembers only what it has covered: reading, by far the most frequent,
// does not depend on how deeply scopes are nested.
void JinjaScopes::set(std::size_t symbol, JinjaValue value) {
  if (depths_[symbol] < scopes_.size()) {  // for the first time in this scope
    saved_.push_back({symbol, std::move(values_[symbol]), depths_[symbol]});
    depths_[symbol] = scopes_.size();
  }
  values_[symbol] = std::move(value);
}

void JinjaScopes::close() {
  for (; saved_.size() > scopes_.back().begin; saved_.pop_back()) {
    values_[saved_.back().symbol] = std::move(saved_.back().value);
    depths_[saved_.back().symbol] = saved_.back().depth;
  }
  innermost_ = scopes_.back().around;
  scopes_.pop_back();
}

// The visible scopes are the innermost one, the one around it and so on, which are those of its definition for a macro
// and not all that are open. Of the old and the new row of scopes what both have in common stays. Scopes are hidden
// from the inside out and shown again in the opposite order, so that each finds the values over which it was opened.
void JinjaScopes::go_to(std::size_t scope) {
  scope = std::min(scope, scopes_.size());  // a namespace may keep a macro longer than its scope is open
  std::vector<std::size_t> shown;
  for (std::size_t from = std::exchange(innermost_, scope), to = scope; from != to;) {
    if (from > to) {
      exchange(from);
      from = scopes_[from - 1].around;
    } else {
      shown.push_back(to);
      to = scopes_[to - 1].around;
    }
  }
  for (; !shown.empty(); shown.pop_back())
    exchange(shown.back());
}

/// Hides a scope or shows it again: what it restores changes places with what it has set. No symbol is twice in it.
void JinjaScopes::exchange(std::size_t scope) {
  const std::size_t end = scope < scopes_.size() ? scopes_[scope].begin : saved_.size();
  for (std::size_t i = scopes_[scope - 1].begin; i < end; ++i)
    std::swap(saved_[i].value, values_[saved_[i].symbol]);
}

}  // namespace multicard
