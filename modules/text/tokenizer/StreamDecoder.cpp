#include "text/tokenizer/StreamDecoder.hpp"

namespace multicard {

StreamDecoder::StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, DecodeSpecial special)
    : tokenizer_(std::move(tokenizer)), special_(special) {}

// Decoding is not additive: how a token begins can depend on the one before it (a leading space is left out). So the
// window always begins with tokens whose text has been returned, and what is new is the difference.
std::string StreamDecoder::next(TokenId id) {
  window_.push_back(id);
  const std::string text = tokenizer_->decode(window_, special_);
  // A text that really holds U+FFFD is thereby only late: it is given out with the next token, or by finish().
  if (text.ends_with("\xEF\xBF\xBD")) return "";  // perhaps the beginning of a character
  return take(text);
}

std::string StreamDecoder::finish() {
  std::string rest = take(tokenizer_->decode(window_, special_));
  window_.clear();
  num_given_ = 0;
  return rest;
}

std::string StreamDecoder::take(const std::string& text) {
  const std::string given = tokenizer_->decode(std::span(window_).first(num_given_), special_);
  if (text.size() <= given.size()) return "";
  window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(num_given_));
  num_given_ = window_.size();
  return text.substr(given.size());
}

}  // namespace multicard
