#include "HelpFormats.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "data/shards/ShardContents.hpp"
#include "nn/language/ConfigKeys.hpp"
#include "nn/vision/ImageWeightNames.hpp"
#include "prepare/images/ImageFormats.hpp"
#include "prepare/records/RecordFields.hpp"
#include "state/AdapterKeys.hpp"
#include "state/WeightKeys.hpp"
#include "text/tokenizer/TokenizerKeys.hpp"

namespace multicard {

namespace {

constexpr std::size_t kIndent = 8;
constexpr const char* kUsage =
    "multicard help formats shows which keys of others' files are read, multicard help formats chat those of records "
    "of that type, --markdown all as tables.\n";

std::vector<ForeignFormat> all_formats() {
  std::vector<ForeignFormat> formats = image_formats();
  for (const auto& more : {shard_formats(), image_weight_formats(), record_formats(), config_formats(),
                           weight_formats(), tokenizer_formats(), adapter_formats()})
    formats.insert(formats.end(), more.begin(), more.end());
  return formats;
}

}  // namespace

bool asks_for_formats(const std::vector<std::string>& words) {
  return words.size() >= 2 && words[0] == "help" && words[1] == "formats";
}

std::string help_on_formats(const std::vector<std::string>& words) {
  const std::string name = join({words.begin() + 2, words.end()}, " ");
  if (name == "--help" || name == "-h") return kUsage;
  // The marks are those of the documents, whose tables a test compares with this.
  const bool as_markdown = name == "--markdown";
  if (name.starts_with("-") && !as_markdown)
    throw UsageError(fmt::format("unknown option '{}' of multicard help formats", name), "", kUsage);
  std::string help;
  for (const ForeignFormat& format : all_formats())
    if (as_markdown)
      help += fmt::format("<!-- keys of format {} -->\n{}<!-- end of keys -->\n", format.name, markdown_table(format));
    else if (format.name.starts_with(name))
      help += wrapped_help(text_table(format), kIndent) + "\n";
  if (help.empty())
    throw UsageError(fmt::format("no format is called '{}'", name), "", "multicard help formats shows all of them.");
  return help;
}

}  // namespace multicard
