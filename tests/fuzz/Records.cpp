// Records of text data sets, from the file to tokens. The first line of an input is the type of the records and the
// ending of the file's name ("chat .jsonl"), the rest is the file.
#include <algorithm>

#include "fuzz/Target.hpp"
#include "prepare/records/RecordEncoder.hpp"
#include "prepare/records/RecordFiles.hpp"
#include "unit/data/test_tokenizer.hpp"

namespace multicard::fuzz {

// An unknown type is a usage error.
const std::vector<ExitCode> kDocumentedCodes{ExitCode::data, ExitCode::usage};

namespace {

std::shared_ptr<const Tokenizer> tokenizer() {
  static const auto kTokenizer = [] {
    test::write_byte_tokenizer(scratch_folder() + "/tokenizer");
    return Tokenizer::load(scratch_folder() + "/tokenizer");
  }();
  return kTokenizer;
}

void check(const EncodedText& text) {
  require(text.ids.size() == text.loss_mask.size(), "the mask has another length than the tokens");
  require(text.ids.empty() || text.loss_mask.front() == 0, "the first token is a target");
}

}  // namespace

void read(std::string_view input) {
  static const std::vector<std::string> kEndings{".json", ".jsonl", ".csv", ".tsv", ".txt", ".json.gz", ".csv.gz"};
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::string_view head = input.substr(0, end);
  const std::size_t blank = std::min(head.find(' '), head.size());
  const std::string ending(head.substr(std::min(blank + 1, head.size())));
  if (std::find(kEndings.begin(), kEndings.end(), ending) == kEndings.end()) return;
  const DatasetType type = dataset_type(head.substr(0, blank));
  const std::string path = scratch_file("records" + ending, input.substr(std::min(end + 1, input.size())));
  const RecordKind kind = type == DatasetType::text ? RecordKind::text : RecordKind::json;
  RecordFiles records({path}, kind, Communicator::null());
  RecordEncoder encoder(type, tokenizer(), PromptTemplate::named("chatml"), LossOn::completion);
  encoder.use(std::make_shared<RecordMap>(type, std::vector<std::string>{}));
  for (std::int64_t i = 0; i < records.size(); ++i) {
    const std::string text = records.read(i), name = records.name_of(i);
    if (records.is_plain(i)) {
      check(encoder.encode_text(text, name).sequence);
      continue;
    }
    likely_other_type(text, type);
    const EncodedRecord record = encoder.encode_json(text, name);
    check(record.sequence);
    if (record.rejected) check(*record.rejected);
  }
}

}  // namespace multicard::fuzz
