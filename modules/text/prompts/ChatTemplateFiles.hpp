#pragma once
/// \file What the files of a model folder say about its chat template.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace multicard {

struct ChatTemplateSources {
  std::string chat;
  std::optional<std::string> with_tools = {};  ///< another one for conversations with tools
};

/// Nothing where the folder has none. \throws DataError where there is no default one among several
std::optional<ChatTemplateSources> chat_template_sources(const std::string& folder);

/// The special tokens that a chat template may write, under their names.
using TemplateSpecials = std::vector<std::pair<std::string_view, std::string>>;
TemplateSpecials template_specials(const std::string& folder);

}  // namespace multicard
