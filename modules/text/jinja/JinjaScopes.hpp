#pragma once
/// \file The variables of a rendering.

#include <cstddef>
#include <vector>

#include "text/jinja/JinjaValue.hpp"

namespace multicard {

/// Values by symbol. A scope restores, when it closes, what was set in it.
class JinjaScopes {
 public:
  /// While it lives a macro does not see what scopes opened around its call have set, only those around its definition.
  class Hidden {
   public:
    /// \param num_seen scopes that stay visible
    Hidden(JinjaScopes& scopes, std::size_t num_seen);
    ~Hidden();
    Hidden(const Hidden&) = delete;
    Hidden& operator=(const Hidden&) = delete;

   private:
    JinjaScopes& scopes_;
    std::size_t begin_, end_;  ///< of saved_
  };

  /// A variable outside all scopes.
  void add(JinjaValue value) {
    values_.push_back(std::move(value));
    depths_.push_back(0);
  }
  const JinjaValue& operator[](std::size_t symbol) const { return values_[symbol]; }
  void set(std::size_t symbol, JinjaValue value);

  void open() { scopes_.push_back(saved_.size()); }
  void close();
  /// Scopes that are open.
  std::size_t size() const { return scopes_.size(); }

 private:
  /// What a variable was outside a scope, and in which scope it had been set last.
  struct Saved {
    std::size_t symbol;
    JinjaValue value;
    std::size_t depth;
  };

  std::vector<JinjaValue> values_;   ///< by symbol
  std::vector<std::size_t> depths_;  ///< by symbol: the number of scopes that were open when it was set last
  std::vector<Saved> saved_;         ///< what scopes restore when they close
  std::vector<std::size_t> scopes_;  ///< the open ones: where their part of saved_ begins
};

}  // namespace multicard
