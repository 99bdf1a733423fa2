#include "text/tokenizer/Vocabulary.hpp"

#include <cstring>
#include <functional>

namespace multicard {

namespace {

std::uint32_t hash_of(std::string_view text) {
  const std::uint64_t hash = std::hash<std::string_view>{}(text);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

}  // namespace

// The texts lie in one string: a vocabulary of 128,000 tokens takes few allocations instead of one for each. A view
// that text() has returned is valid until the next token is added.
bool Vocabulary::add(std::string_view text, TokenId id) {
  if (2 * (num_tokens_ + 1) > slots_.size()) grow();
  const std::uint32_t hash = hash_of(text);
  const std::size_t slot = slot_of(text, hash);
  if (slots_[slot].id != kFree || has(id)) return false;
  if (id >= places_.size()) places_.resize(id + std::size_t{1});
  places_[id] = {texts_.size(), static_cast<std::uint32_t>(text.size()), true};
  texts_ += text;
  slots_[slot] = {hash, id};
  ++num_tokens_;
  return true;
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const TokenId id = slots_[slot_of(text, hash_of(text))].id;
  return id == kFree ? std::nullopt : std::optional(id);
}

std::string_view Vocabulary::text(TokenId id) const {
  if (!has(id)) return {};
  return std::string_view(texts_).substr(places_[id].begin, places_[id].length);
}

// The hashes are kept with the ids, so that growing reads no text, and a search hardly ever one that is not the wanted
// one.
void Vocabulary::grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(std::max<std::size_t>(64, 2 * old.size()), {});
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kFree) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id != kFree)
      at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

std::size_t Vocabulary::slot_of(std::string_view wanted, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id != kFree && (slots_[at].hash != hash || text(slots_[at].id) != wanted))
    at = (at + 1) & mask;
  return at;
}

}  // namespace multicard
