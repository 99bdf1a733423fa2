#include "text/jinja/JinjaScopes.hpp"

#include <utility>

namespace multicard {

// Values live in one row by symbol, and a scope remembers only what it has covered: reading, by far the most frequent,
// does not depend on how deeply scopes are nested.
void JinjaScopes::set(std::size_t symbol, JinjaValue value) {
  if (depths_[symbol] < scopes_.size()) {  // for the first time in the innermost scope
    saved_.push_back({symbol, std::move(values_[symbol]), depths_[symbol]});
    depths_[symbol] = scopes_.size();
  }
  values_[symbol] = std::move(value);
}

void JinjaScopes::close() {
  for (const std::size_t begin = scopes_.back(); saved_.size() > begin; saved_.pop_back()) {
    values_[saved_.back().symbol] = std::move(saved_.back().value);
    depths_[saved_.back().symbol] = saved_.back().depth;
  }
  scopes_.pop_back();
}

// The saved values change places with the current ones, in the order in which scopes would close, and back again.
JinjaScopes::Hidden::Hidden(JinjaScopes& scopes, std::size_t num_seen)
    : scopes_(scopes),
      begin_(num_seen < scopes.size() ? scopes.scopes_[num_seen] : scopes.saved_.size()),
      end_(scopes.saved_.size()) {
  for (std::size_t i = end_; i-- > begin_;)
    std::swap(scopes_.saved_[i].value, scopes_.values_[scopes_.saved_[i].symbol]);
}

JinjaScopes::Hidden::~Hidden() {
  for (std::size_t i = begin_; i < end_; ++i)
    std::swap(scopes_.saved_[i].value, scopes_.values_[scopes_.saved_[i].symbol]);
}

}  // namespace multicard
