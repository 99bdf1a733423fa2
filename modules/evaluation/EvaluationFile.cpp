#include "evaluation/EvaluationFile.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "config/Deck.hpp"
#include "io/OwnFiles.hpp"
#include "results/ResultsReader.hpp"
#include "results/ResultsWriter.hpp"
#include "results/TrialRead.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// Keys and sections of decks on which the scores of given weights depend.
constexpr std::array kScopeKeys{"data.test",       "evaluate.limit", "evaluate.questions", "precision",
                                "data.image_size", "data.normalize", "data.max_length",    "data.packing",
                                "data.overlong",   "model.path",     "model.dtype",        "method"};

/// An evaluation that is in a file.
struct Earlier {
  RunSummary summary;
  std::string created_utc;
};

/// \throws DataError where the file holds something else
Earlier read_earlier(const std::string& path) {
  // An evaluation is a results file of one run without steps, known by the attribute `weights`.
  const ResultsFile file = ResultsFile::open(path);
  Earlier earlier{file.run("main").summary, ""};
  if (!earlier.summary.text.contains("weights") || !earlier.summary.text.contains("deck"))
    throw DataError(fmt::format("{} is not an evaluation", path));
  const auto created = file.attributes().find("created_utc");
  if (created != file.attributes().end() && std::holds_alternative<std::string>(created->second))
    earlier.created_utc = std::get<std::string>(created->second);
  return earlier;
}

/// Of a path or pattern.
std::string from_root(const std::string& path) {
  return path.empty() ? "" : fs::absolute(path).lexically_normal().string();
}

/// What was otherwise in an earlier evaluation, in words; empty where both are of the same.
std::string difference(const RunSummary& before, const RunSummary& now) {
  // Both decks have their defaults written out, so that a key that was left out equals its default.
  const Deck old_deck = Deck::parse(before.text.at("deck"), "before"), deck = Deck::parse(now.text.at("deck"), "now");
  for (const std::string key : kScopeKeys) {
    const std::string was = old_deck.get_text(key), is = deck.get_text(key);
    // The same shards may be named from another folder.
    const bool is_path = key == "data.test" || key == "model.path";
    if (is_path ? from_root(was) != from_root(is) : was != is)
      return fmt::format("{} was {}", key, was.empty() ? "not set" : was);
  }
  const std::string& weights = before.text.at("weights");
  if (from_root(weights) != from_root(now.text.at("weights"))) return fmt::format("of {}", weights);
  const auto rows = before.integers.find("samples");
  if (rows != before.integers.end() && rows->second != now.integers.at("samples"))
    return fmt::format("of {}", counted(rows->second, "row"));
  return "";
}

/// NAME_1.h5, NAME_2.h5, ...: the first that is free.
std::string free_name(const std::string& file) {
  const fs::path path(file);
  for (int number = 1;; ++number) {
    const fs::path name =
        path.parent_path() / fmt::format("{}_{}{}", path.stem().string(), number, path.extension().string());
    if (!is_taken(name.string())) return name.string();
  }
}

/// For one process. Makes way for a file with `summary`; returns what to say of the evaluation that stands there. A
/// link stays: what is at its end makes way.
std::string make_way(const std::string& path, OtherEvaluation others, const RunSummary& summary) {
  const std::string file = end_of_links(path);
  if (!is_taken(file)) return "";
  const Earlier earlier = read_earlier(file);
  std::string what = fmt::format("the evaluation of {}", earlier.created_utc);
  if (const auto loss = earlier.summary.reals.find("loss"); loss != earlier.summary.reals.end())
    what += fmt::format(", loss {}", significant(loss->second));
  const std::string other = difference(earlier.summary, summary);
  const std::string note = other.empty() ? "" : fmt::format(" ({})", other);
  if (other.empty() || others == OtherEvaluation::replace) return fmt::format("{:<10}{}{}", "replaced", what, note);
  // Renamed before the new one is written: at no moment is there only one of the two.
  const std::string kept = free_name(file);
  fs::rename(file, kept);
  return fmt::format("{:<10}{}{} is now {}", "kept", what, note, kept);
}

}  // namespace

std::string evaluation_file(const RunOptions& options) {
  const auto& limit = options.evaluate.limit;
  return (fs::path(options.run.output) / (limit ? fmt::format("eval_limit{}.h5", *limit) : "eval.h5")).string();
}

void require_evaluation(const std::string& file, const Communicator& world) {
  agreed(world, [&] {
    if (!world.is_root() || !is_taken(file) || !is_taken(end_of_links(file))) return;
    // In a child first: libhdf5 may crash on what only looks like a results file.
    const auto error = error_of([&] {
      read_on_trial(file);
      read_earlier(file);
    });
    if (error)
      throw UsageError(fmt::format("{} is there and not an evaluation", file), error->what(),
                       "Move it away, or name another file with -o.");
  });
}

void write_evaluation(const std::string& file, OtherEvaluation other, const Provenance& provenance,
                      const RunSummary& summary, const Communicator& world) {
  std::string words;
  agreed(world, [&] {
    if (world.is_root()) words = make_way(file, other, summary);
  });
  write_results(file, world, provenance, summary, RankRows{});
  if (!words.empty()) log_info(words);
}

}  // namespace multicard
