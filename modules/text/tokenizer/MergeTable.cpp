#include "text/tokenizer/MergeTable.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

namespace multicard {

namespace {

constexpr std::size_t kLongestShortWord = 48;  ///< tokens; up to here looking at all pairs is the fastest
constexpr std::uint32_t kNever = ~std::uint32_t{0};

std::uint64_t pair_of(TokenId left, TokenId right) {
  return std::uint64_t{left} << 32 | right;
}

}  // namespace

void MergeTable::reserve(std::size_t num_merges) {
  if (2 * num_merges > slots_.size()) grow(std::bit_ceil(std::max<std::size_t>(64, 2 * num_merges)));
}

void MergeTable::set(TokenId left, TokenId right, Merge merge) {
  if (2 * (num_merges_ + 1) > slots_.size()) grow(std::max<std::size_t>(64, 2 * slots_.size()));
  Slot& slot = slots_[slot_of(pair_of(left, right))];
  if (slot.pair == kFree) ++num_merges_;
  slot = {pair_of(left, right), merge};
}

const MergeTable::Merge* MergeTable::find(TokenId left, TokenId right) const {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slots_[slot_of(pair_of(left, right))];
  return slot.pair == kFree ? nullptr : &slot.merge;
}

void MergeTable::merge(std::span<const TokenId> word, std::vector<TokenId>& out) const {
  if (word.size() < 2) {
    out.insert(out.end(), word.begin(), word.end());
  } else if (word.size() <= kLongestShortWord) {
    merge_short(word, out);
  } else {
    merge_long(word, out);
  }
}

void MergeTable::grow(std::size_t num_slots) {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(num_slots, {});
  shift_ = 64 - std::countr_zero(num_slots);
  for (const Slot& slot : old)
    if (slot.pair != kFree) slots_[slot_of(slot.pair)] = slot;
}

// Fibonacci hashing: the product's top bits depend on all bits of the pair, once its halves are folded into each other.
// The table is at most half full, so that a search, also one that fails, ends after few slots.
std::size_t MergeTable::slot_of(std::uint64_t pair) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (pair ^ pair >> 29) * 0x9E3779B97F4A7C15u >> shift_;
  while (slots_[at].pair != kFree && slots_[at].pair != pair)
    at = (at + 1) & mask;
  return at;
}

// Quadratic, and still the fastest for words of ordinary length: all of it stays in two small arrays on the stack. "<"
// lets the leftmost of equal ranks win, on which ids depend ("aaa" with the merge "aa" is "aa a").
void MergeTable::merge_short(std::span<const TokenId> word, std::vector<TokenId>& out) const {
  std::array<TokenId, kLongestShortWord> tokens;
  std::array<Merge, kLongestShortWord> merges;  // of the tokens i and i + 1
  std::size_t size = word.size();
  std::copy(word.begin(), word.end(), tokens.begin());
  const auto look_up = [&](std::size_t i) {
    const Merge* merge = find(tokens[i], tokens[i + 1]);
    merges[i] = merge ? *merge : Merge{kNever, 0};
  };
  for (std::size_t i = 0; i + 1 < size; ++i)
    look_up(i);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i)
      if (merges[i].rank < merges[best].rank) best = i;
    if (merges[best].rank == kNever) break;
    tokens[best] = merges[best].product;
    std::copy(tokens.begin() + best + 2, tokens.begin() + size, tokens.begin() + best + 1);
    if (best + 2 < size) std::copy(merges.begin() + best + 2, merges.begin() + size - 1, merges.begin() + best + 1);
    --size;
    if (best > 0) look_up(best - 1);
    if (best + 1 < size) look_up(best);
  }
  out.insert(out.end(), tokens.begin(), tokens.begin() + size);
}

/// A linked list of tokens and a heap of what may merge, as rank and place. Entries that no longer hold are recognised
/// when they come up.
void MergeTable::merge_long(std::span<const TokenId> word, std::vector<TokenId>& out) const {
  struct Node {
    TokenId token;
    std::uint32_t previous, next;
  };
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  constexpr TokenId kGone = ~TokenId{0};
  std::vector<Node> nodes(word.size());
  std::vector<std::uint64_t> heap;
  // Rank above place: the heap's order is that of merge_short(), smallest rank first and leftmost among equals.
  const auto entry = [&](std::uint32_t at, const Merge& merge) { return std::uint64_t{merge.rank} << 32 | at; };
  for (std::uint32_t i = 0; i < word.size(); ++i) {
    nodes[i] = {word[i], i == 0 ? kNone : i - 1, i + 1 == word.size() ? kNone : i + 1};
    if (i + 1 == word.size()) break;
    if (const Merge* merge = find(word[i], word[i + 1])) heap.push_back(entry(i, *merge));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>{});
  const auto push = [&](std::uint32_t at) {
    if (const Merge* merge = find(nodes[at].token, nodes[nodes[at].next].token)) {
      heap.push_back(entry(at, *merge));
      std::push_heap(heap.begin(), heap.end(), std::greater<>{});
    }
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
    const std::uint64_t top = heap.back();
    heap.pop_back();
    const auto at = static_cast<std::uint32_t>(top);
    Node& left = nodes[at];
    if (left.token == kGone || left.next == kNone) continue;
    Node& right = nodes[left.next];
    const Merge* merge = find(left.token, right.token);
    // The rank is enough to recognise an entry that still holds. Two pairs may share one (tiktoken's rank is that of
    // the product), and then the pair that is there now is due at the same moment.
    if (!merge || merge->rank != top >> 32) continue;
    left.token = merge->product;
    right.token = kGone;
    left.next = right.next;
    if (left.next != kNone) nodes[left.next].previous = at;
    if (left.previous != kNone) push(left.previous);
    if (left.next != kNone) push(at);
  }
  for (std::uint32_t at = 0; at != kNone; at = nodes[at].next)
    out.push_back(nodes[at].token);
}

}  // namespace multicard
