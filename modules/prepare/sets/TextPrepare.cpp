#include "prepare/sets/TextPrepare.hpp"

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "prepare/files/BadInputs.hpp"
#include "prepare/records/RecordFiles.hpp"
#include "prepare/sets/PrepareProgress.hpp"
#include "prepare/sets/Split.hpp"
#include "prepare/sets/TextReport.hpp"
#include "prepare/sets/TokenWriter.hpp"

namespace multicard {

namespace {

bool uses_template(DatasetType type) {
  return type != DatasetType::text && type != DatasetType::tokens;
}

void check_options(const TextPrepareOptions& options) {
  check_shard_options(options);
  const DatasetType type = options.type;
  const auto refuse = [&](bool is_there, const char* what) {
    if (is_there) throw UsageError(fmt::format("--type {} has no {}", name_of(type), what));
  };
  if (options.inputs.empty()) throw UsageError("--in needs a file");
  if (options.max_length && *options.max_length < 2)
    throw UsageError("--max-length must be at least 2", "a target needs a token before it");
  refuse(!uses_template(type) && !options.prompt_template.empty(), "--template");
  refuse(!uses_template(type) && !options.date.empty(), "--date");
  if (type == DatasetType::tokens) {
    refuse(!options.tokenizer.empty(), "--tokenizer");
    refuse(options.loss.has_value(), "--loss: the labels mark the targets");
  } else if (options.tokenizer.empty()) {
    throw UsageError(fmt::format("--type {} needs --tokenizer DIR|FILE", name_of(type)));
  }
  refuse(type == DatasetType::preference && options.loss == LossOn::all, "--loss all: only answers are compared");
}

struct ChosenTemplate {
  std::optional<PromptTemplate> prompt_template;
  std::string why;  ///< in words
};

// A base model without a chat template can learn any; conversations cannot be rendered without one, instructions can.
ChosenTemplate choose_template(const TextPrepareOptions& options, DatasetType type) {
  if (!uses_template(type)) return {};
  const TemplateDate date = TemplateDate::parse(options.date);
  if (!options.prompt_template.empty())
    return {PromptTemplate::resolve(options.prompt_template, options.tokenizer, date), "as requested"};
  const bool is_folder = std::filesystem::is_directory(options.tokenizer);
  if (is_folder)
    if (const std::optional<PromptTemplate> own = PromptTemplate::of_folder(options.tokenizer, date))
      return {own, fmt::format("the chat template of {}", options.tokenizer)};
  const std::string why = is_folder ? fmt::format("{} has no chat template", options.tokenizer)
                                    : "--tokenizer is a file, which has no chat template";
  if (type == DatasetType::chat)
    throw UsageError("there is no chat template to render conversations with", why,
                     "Name the template that the model was trained with, for example --template chatml.");
  return {PromptTemplate::named("alpaca"), why};
}

/// A chat template is of little use to a tokenizer that does not know its special tokens.
void warn_of_missing_tokens(const PromptTemplate& prompt_template, const Tokenizer& tokenizer) {
  const auto is_known = [&](const std::string& end) {  // it may be two markers, each a token
    const std::vector<TokenId> ids = tokenizer.encode(end, SpecialTokens::leave_out);
    return ids.size() == 1 || std::all_of(ids.begin(), ids.end(), [&](TokenId id) { return tokenizer.is_special(id); });
  };
  for (const std::string& end : prompt_template.ends_of_turn())
    if (!is_known(end))
      log_warning(
          fmt::format("tokenizer {} does not have {}, which ends a turn in template {}: it becomes several "
                      "tokens",
                      tokenizer.path(), end, prompt_template.name()));
}

/// What is the same on all ranks before records are read.
struct Setup {
  DatasetType type;
  LossOn loss;
  ChosenTemplate chosen;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<RecordMap> map;
  std::unique_ptr<RecordEncoder> encoder;
};

Setup make_setup(const TextPrepareOptions& options) {
  Setup setup;
  setup.type = options.type;
  check_options(options);
  setup.loss = options.loss.value_or(LossOn::completion);
  setup.chosen = choose_template(options, setup.type);
  if (setup.chosen.prompt_template) setup.chosen.prompt_template->require_use_of(options.date);
  if (!options.tokenizer.empty()) setup.tokenizer = Tokenizer::load(options.tokenizer);
  setup.encoder =
      std::make_unique<RecordEncoder>(setup.type, setup.tokenizer, setup.chosen.prompt_template, setup.loss);
  setup.map = std::make_shared<RecordMap>(setup.type, options.map);
  setup.encoder->use(setup.map);
  return setup;
}

/// Records that stand in one line begin its lines at 1.
std::string without_first_line(const std::string& why) {
  const std::string in_first_line = "at line 1, ";
  return why.starts_with(in_first_line) ? "at " + why.substr(in_first_line.size()) : why;
}

/// Errors of a record say how to correct it, whether it looks like another type's, and that it can be left out.
DataError with_advice(const Error& error, const std::optional<DatasetType>& likely) {
  const std::string& own = error.suggestion();
  const std::string advice = likely        ? fmt::format("It looks like --type {}.", name_of(*likely))
                             : own.empty() ? "Fix it."
                                           : own;
  const bool says_all = advice.find("--skip-bad") != std::string::npos;
  return DataError(error.problem(), without_first_line(error.why()),
                   says_all ? advice : advice + " --skip-bad leaves bad records out.");
}

/// Encodes this rank's records. Returns those that cannot be.
std::vector<BadInput> encode(EncodedSet& encoded, RecordFiles& records, Block mine, const Setup& setup,
                             const TextPrepareOptions& options, PrepareProgress& progress) {
  const LongText long_text = setup.type == DatasetType::text ? LongText::split : LongText::cut;
  std::vector<BadInput> bad;
  for (std::int64_t record = mine.first; record < mine.first + mine.count; ++record) {
    const std::string bytes = records.read(record), name = records.name_of(record);
    try {
      encoded.add(
          records.is_plain(record) ? setup.encoder->encode_text(bytes, name) : setup.encoder->encode_json(bytes, name),
          long_text, options.max_length);
    } catch (const DataError& error) {
      const std::optional<DatasetType> likely =
          records.is_plain(record) ? std::nullopt : likely_other_type(bytes, setup.type);
      const DataError full = with_advice(error, likely);
      if (!options.skip_bad) throw full;
      bad.push_back({record, fmt::format("{}{}", full.problem(), full.why().empty() ? "" : " (" + full.why() + ")")});
    }
    progress.advance();
  }
  return bad;
}

void sum(CutCounts& counts, const Communicator& communicator) {
  for (std::int64_t* count : {&counts.num_cut, &counts.num_split, &counts.num_without_target, &counts.num_lost_target,
                              &counts.num_dropped_reasoning})
    *count = communicator.allreduce(*count, ReduceOp::sum);
}

/// Collective. A name that no record has is a mistake in the option.
void check_map(const RecordMap& map, const Communicator& communicator) {
  const std::vector<bool> uses = map.uses();
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (communicator.allreduce(std::int64_t{uses[i]}, ReduceOp::sum) == 0)
      throw UsageError(fmt::format("--map {} names nothing that any record has", map.options()[i]), "",
                       "The name used in the data goes after the equals sign.")
          .on_all_ranks();
}

/// Collective. Whether the records are pairs.
bool find_pairs(const EncodedSet& encoded, const Communicator& communicator) {
  const auto total = [&](std::size_t mine) {
    return communicator.allreduce(static_cast<std::int64_t>(mine), ReduceOp::sum);
  };
  const std::int64_t all = total(encoded.chosen.size()), pairs = total(encoded.rejected.size());
  if (all == 0)
    throw DataError("no record can be trained on", in_words(encoded.counts),
                    "Check --type, --max-length and what was left out.")
        .on_all_ranks();
  if (pairs != 0 && pairs != all)
    throw DataError(fmt::format("{} of {} records are pairs", pairs, all), "a set has pairs or single sequences",
                    "Prepare them separately.")
        .on_all_ranks();
  return pairs != 0;
}

/// Collective. One set, or with options.split two of them, each in input order; a text stays whole.
std::vector<TokenSet> make_sets(const TextPrepareOptions& options, const EncodedSet& encoded,
                                const Communicator& communicator) {
  const auto num_mine = static_cast<std::int64_t>(encoded.num_of_record.size());
  std::int64_t first = 0, all = 0;
  const std::vector<std::int64_t> counts = communicator.allgather(num_mine);
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (rank < static_cast<std::size_t>(communicator.rank())) first += counts[rank];
    all += counts[rank];
  }
  const std::vector<bool> is_test = options.split ? choose_test_part(all, *options.split, options.split_seed)
                                                  : std::vector<bool>(static_cast<std::size_t>(all));
  std::vector<TokenSet> sets{{options.output, options.num_shards, {}}};
  if (options.split)
    sets = {{options.output + "-train", options.num_shards, {}}, {options.output + "-test", options.num_shards, {}}};
  std::size_t sequence = 0;
  for (std::int64_t i = 0; i < num_mine; ++i)
    for (std::int64_t part = 0; part < encoded.num_of_record[static_cast<std::size_t>(i)]; ++part)
      sets[is_test[static_cast<std::size_t>(first + i)] ? 1 : 0].sequences.push_back(sequence++);
  return sets;
}

std::map<std::string, Hdf5Value> attributes(const TextPrepareOptions& options, const Setup& setup,
                                            const RecordFiles& records, const Communicator& communicator) {
  std::vector<std::string> names;
  for (const SourceFile& file : records.files())
    names.push_back(file.name);
  const bool has_labels = setup.type == DatasetType::tokens;
  std::map<std::string, Hdf5Value> values{
      {"dataset_type", name_of(options.type)},
      {"template", setup.chosen.prompt_template ? setup.chosen.prompt_template->name() : std::string()},
      {"loss", has_labels                  ? std::string("labels")
               : setup.loss == LossOn::all ? "all"
                                           : "completion"},
      {"max_length", options.max_length.value_or(0)},
      {"tokenizer_sha256", setup.tokenizer ? setup.tokenizer->sha256() : std::string()},
      {"source", join(names, " ")},
      {"source_sha256", hash_files(records.files(), communicator)}};
  if (!options.date.empty()) values.emplace("template_date", options.date);
  return values;
}

void write_sets(TextPrepareResult& result, const TextPrepareOptions& options, std::vector<TokenSet> sets,
                const EncodedSet& encoded, bool is_paired, const std::map<std::string, Hdf5Value>& attributes,
                const Communicator& communicator) {
  std::vector<std::unique_ptr<TokenWriter>> writers;
  for (TokenSet& set : sets) {
    writers.push_back(std::make_unique<TokenWriter>(encoded, is_paired, std::move(set), communicator));
    const TokenWriter& writer = *writers.back();
    agreed(communicator, [&] {
      if (communicator.is_root())
        check_shard_set(writer.prefix(), writer.totals().num_sequences, options.num_shards,
                        is_paired ? "pairs" : "sequences");
    });
  }
  for (const auto& writer : writers) {
    writer->write_sequences();
    writer->write_attributes(attributes);
  }
  NamingJournal journal(options.output, names_of(writers), communicator);
  for (const auto& writer : writers)
    writer->commit();
  journal.finish();
  for (const auto& writer : writers) {
    result.num_sequences += writer->totals().num_sequences;
    result.num_tokens += writer->totals().num_tokens;
    result.num_trained += writer->totals().num_trained;
    result.files.insert(result.files.end(), writer->paths().begin(), writer->paths().end());
    if (!options.quiet) report_set(*writer, is_paired);
  }
}

}  // namespace

TextPrepareResult prepare_text(const TextPrepareOptions& options, const Communicator& communicator) {
  const TimePoint start = SteadyClock::now();
  Setup setup = agreed(communicator, [&] { return make_setup(options); });
  agreed(communicator, [&] {
    if (communicator.is_root()) free_interrupted_names(options.output);
    if (communicator.is_root() && !options.split) require_no_shards(options.output);
  });
  TextPrepareResult result;
  if (setup.chosen.prompt_template) {
    result.template_name = setup.chosen.prompt_template->name();
    warn_of_missing_tokens(*setup.chosen.prompt_template, *setup.tokenizer);
    if (!options.quiet) log_info(fmt::format("template {} ({})", result.template_name, setup.chosen.why));
  }
  RecordFiles records(options.inputs, setup.type == DatasetType::text ? RecordKind::text : RecordKind::json,
                      communicator);
  result.num_records = records.size();
  EncodedSet encoded;
  std::vector<BadInput> bad;
  {
    PrepareProgress progress("tokenising", records.size(), "records", communicator,
                             options.quiet ? Loudness::quiet : Loudness::normal);
    const Block mine = records.block_of_bytes(communicator.rank(), communicator.size());
    agreed_after_long_work(communicator, [&] { bad = encode(encoded, records, mine, setup, options, progress); });
  }
  bad = merge_bad(bad, communicator);
  report_bad(bad, "record", "records");
  result.num_skipped = static_cast<std::int64_t>(bad.size());
  if (bad.empty()) check_map(*setup.map, communicator);
  sum(encoded.counts, communicator);
  result.counts = encoded.counts;
  warn_of_what_is_left_out(encoded, setup.type, result.template_name, communicator);
  const bool is_paired = find_pairs(encoded, communicator);
  if (!options.quiet) report_sequences(encoded, is_paired, communicator);
  write_sets(result, options, make_sets(options, encoded, communicator), encoded, is_paired,
             attributes(options, setup, records, communicator), communicator);
  if (!options.quiet) report_rate(records.num_bytes(), result.num_tokens, seconds_since(start));
  return result;
}

}  // namespace multicard
