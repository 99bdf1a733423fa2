#pragma once
/// \file The variables of a rendering.

#include <cstddef>
#include <utility>
#include <vector>

#include "text/jinja/JinjaValue.hpp"

namespace multicard {

/// Values by symbol. A scope restores, when it closes, what was set in it.
class JinjaScopes {
 public:
  /// While it lives, what is visible is what code in another scope sees: a macro sees the scopes around its definition,
  /// not those around its call.
  class Visit {
   public:
    /// \param scope as scope() gave it there
    Visit(JinjaScopes& scopes, std::size_t scope) : scopes_(scopes), from_(scopes.innermost_) { scopes.go_to(scope); }
    ~Visit() { scopes_.go_to(from_); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    JinjaScopes& scopes_;
    std::size_t from_;
  };

  /// A variable outside all scopes.
  void add(JinjaValue value) {
    values_.push_back(std::move(value));
    depths_.push_back(0);
  }
  const JinjaValue& operator[](std::size_t symbol) const { return values_[symbol]; }
  /// In the scope that was opened last.
  void set(std::size_t symbol, JinjaValue value);

  void open();
  void close();
  /// The innermost scope that is visible; 0: outside all.
  std::size_t scope() const { return innermost_; }

 private:
  /// What a variable was outside a scope, and in which scope it had been set last. Of a hidden scope: what it is
  /// inside.
  struct Saved {
    std::size_t symbol;
    JinjaValue value;
    std::size_t depth;
  };
  struct Scope {
    std::size_t begin;   ///< of its part of saved_
    std::size_t around;  ///< the scope that it was opened in
  };

  void go_to(std::size_t scope);
  void exchange(std::size_t scope);

  std::vector<JinjaValue> values_;   ///< by symbol
  std::vector<std::size_t> depths_;  ///< by symbol: the number of scopes that were open when it was set last
  std::vector<Saved> saved_;         ///< what scopes restore when they close
  std::vector<Scope> scopes_;        ///< the open ones; scope n is the n-th
  std::size_t innermost_ = 0;        ///< of the visible ones
};

}  // namespace multicard
