// tokenizer.json of a model folder: loading, and encoding and decoding with what was loaded.
#include <algorithm>

#include "base/Utf8.hpp"
#include "fuzz/Target.hpp"
#include "text/tokenizer/Tokenizer.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  const auto tokenizer = Tokenizer::load(scratch_file("tokenizer.json", input));
  for (const SpecialTokens special : {SpecialTokens::add, SpecialTokens::leave_out}) {
    const auto ids = tokenizer->encode("<s>It's 12,345 \u4f60\u597d\r\n  x\xff!</s>", special);
    for (const TokenId id : ids)
      require(id < tokenizer->vocabulary_size(), "an id is outside the vocabulary");
    for (const DecodeSpecial decode : {DecodeSpecial::keep, DecodeSpecial::skip})
      require(is_valid_utf8(tokenizer->decode(ids, decode)), "a decoded text is not UTF-8");
  }
  tokenizer->decode(std::vector<TokenId>{0, 1, 2, 3, ~TokenId{0}}, DecodeSpecial::keep);
  tokenizer->bos();
  tokenizer->adds_bos();
}

}  // namespace multicard::fuzz
