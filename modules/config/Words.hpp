#pragma once
/// \file Words of decks and the enumerations that they stand for.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace multicard {

/// The word of one value.
template <class E>
struct Word {
  std::string_view text;
  E value;
};

/// The words of a choice, in the order that messages list them.
template <class E>
using Words = std::type_identity_t<std::span<const Word<E>>>;

/// The word of `value`; empty where it has none.
template <class E>
std::string_view word_of(E value, Words<E> words) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const Word<E>& word) { return word.value == value; });
  return found == words.end() ? std::string_view() : found->text;
}

/// The value of `text`; none where it is not one of the words.
template <class E>
std::optional<E> value_of(std::string_view text, std::span<const Word<E>> words) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const Word<E>& word) { return word.text == text; });
  return found == words.end() ? std::nullopt : std::optional(found->value);
}

template <class E>
std::vector<std::string> texts_of(std::span<const Word<E>> words) {
  std::vector<std::string> texts;
  for (const Word<E>& word : words)
    texts.emplace_back(word.text);
  return texts;
}

}  // namespace multicard
