#pragma once
/// \file From the text of a template to tokens.

#include <string>
#include <string_view>
#include <vector>

namespace multicard {

struct JinjaToken {
  enum class Kind { data, output_begin, output_end, block_begin, block_end, name, string, integer, real, symbol, end };

  Kind kind;
  std::string text = {};  ///< of data and strings the meaning, else as it is written
  std::size_t line = 1;
};

/// Applies trim_blocks, lstrip_blocks and the marks - and +; comments and raw blocks are resolved. The last token is
/// Kind::end. \throws JinjaError
std::vector<JinjaToken> jinja_tokens(std::string_view source);

}  // namespace multicard
