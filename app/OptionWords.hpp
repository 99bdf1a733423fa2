#pragma once
/// \file Sets of words that options take.

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/Text.hpp"
#include "config/Words.hpp"

namespace multicard {

/// A short set of words in help texts, as CLI::IsMember shows it. The reader of the option checks the word, because it
/// can suggest another.
inline std::string one_of(const std::vector<std::string>& words) {
  return fmt::format("TEXT:{{{}}}", join(words, ","));
}

/// An option that takes one of `words`.
template <class E>
void add_word(CLI::App& app, const std::string& name, std::optional<E>& value, Words<E> words,
              const std::string& help) {
  app.add_option_function<std::string>(
         name, [&value, words](const std::string& word) { value = value_of<E>(word, words); }, help)
      ->check(CLI::IsMember(texts_of<E>(words)));
}

}  // namespace multicard
