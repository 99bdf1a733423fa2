#pragma once
/// \file Sequences of tokens in memory, end to end.

#include <cstdint>
#include <span>
#include <vector>

namespace multicard {

class TokenSequences {
 public:
  void add(std::span<const std::uint32_t> tokens, std::span<const std::uint8_t> loss_mask) {
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    loss_mask_.insert(loss_mask_.end(), loss_mask.begin(), loss_mask.end());
    ends_.push_back(tokens_.size());
  }

  std::size_t size() const { return ends_.size(); }
  std::span<const std::uint32_t> tokens(std::size_t sequence) const {
    return std::span(tokens_).subspan(begin_of(sequence), length(sequence));
  }
  std::span<const std::uint8_t> loss_mask(std::size_t sequence) const {
    return std::span(loss_mask_).subspan(begin_of(sequence), length(sequence));
  }
  std::size_t length(std::size_t sequence) const { return ends_[sequence] - begin_of(sequence); }

 private:
  std::size_t begin_of(std::size_t sequence) const { return sequence == 0 ? 0 : ends_[sequence - 1]; }

  std::vector<std::uint32_t> tokens_;
  std::vector<std::uint8_t> loss_mask_;
  std::vector<std::size_t> ends_;
};

}  // namespace multicard
