#pragma once
/// \file Decoding while tokens arrive one by one.

#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {

/// Gives out text as soon as it is whole characters. What next() and finish() return, put together, is what
/// Tokenizer::decode gives for all the ids at once (byte-fallback models: as long as their bytes form characters).
class StreamDecoder {
 public:
  StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, DecodeSpecial special);

  /// The text that `id` completes; may be empty.
  std::string next(TokenId id);
  /// What was held back; a broken character becomes U+FFFD. Afterwards a new text may begin.
  std::string finish();

 private:
  std::string take(const std::string& text);

  std::shared_ptr<const Tokenizer> tokenizer_;
  DecodeSpecial special_;
  std::vector<TokenId> window_;  ///< the ids of the last text given out, then those not given out yet
  std::size_t num_given_ = 0;    ///< ids at the front of window_ whose text has been given out
};

}  // namespace multicard
