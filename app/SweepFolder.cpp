#include "SweepFolder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "OwnOutput.hpp"
#include "base/Error.hpp"
#include "base/JsonText.hpp"
#include "base/Log.hpp"
#include "base/RegularFile.hpp"
#include "comm/Agreement.hpp"
#include "config/Yaml.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "io/OwnFiles.hpp"
#include "io/Sha256.hpp"
#include "results/ResultsReader.hpp"
#include "results/TrialRead.hpp"
#include "tasks/setup/RunInputs.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// What a variant measures: not how long a launch may last, nor whether it started over.
std::string measured_deck(const Variant& variant) {
  Value deck = variant.deck.root();
  for (const char* key : {"run.wall_limit", "run.resume"})
    deck.erase_path(key);
  return emit_yaml(deck);
}

/// One text that two launches of the same sweep share: its scale and every variant with its deck.
std::string identity(const std::vector<Variant>& variants, SweepScale scale) {
  std::string text = scale == SweepScale::full ? "" : fmt::format("{}\n", word_of(scale, kSweepScaleWords));
  for (const Variant& variant : variants)
    text += fmt::format("{} {} {} {}\n{}\n", variant.name, variant.ranks, variant.repeat, variant.case_name,
                        measured_deck(variant));
  return sha256(text);
}

/// A variant that was cut runs once more; one that takes the job down itself must not do so for ever.
constexpr int kMostStarts = 2;

constexpr const char *kStamp = "sweep.sha256", *kStampWhenDone = ".sweep.sha256";

bool is_stamp(const std::string& path) {
  if (why_unreadable(path)) return false;
  const std::string text = read_file(path);
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Whether a sweep could give a file of partial/ this name: that of a variant with one of its endings.
bool is_partial_name(const std::string& name) {
  const fs::path path(name);
  const std::string stem = path.stem().string(), ending = path.extension().string();
  return name == kStamp || ((ending == ".h5" || ending == ".failed" || ending == ".running") &&
                            stem.find_first_not_of("0123456789") == std::string::npos);
}

bool is_partial_file(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (is_own_temporary(path)) return true;
  if (!is_partial_name(name)) return false;
  if (name == kStamp) return is_stamp(path);
  if (name.ends_with(".h5")) return is_results_file(path);
  if (name.ends_with(".failed")) return content_says(path, "{", "exit_code");
  if (why_unreadable(path)) return false;
  // The number in a .running file, of one digit or two.
  const std::string times = read_file(path);
  return !times.empty() && times.size() < 3 && times.find_first_not_of("0123456789") == std::string::npos;
}

constexpr const char* kKeepOrReplace = "Set another run.output, or run.resume=never to replace it.";

}  // namespace

SweepFolder::SweepFolder(const std::string& output, SweepScale scale)
    : output_(output), partial_(output_ / "partial"), scale_(scale) {}

fs::path SweepFolder::path(const Variant& variant, const char* ending) const {
  return partial_ / (variant.name + ending);
}

bool SweepFolder::open(const std::vector<Variant>& variants, bool again) const {
  const std::string mine = identity(variants, scale_);
  // The stamp says which sweep the partial files are of; once they are gone, its copy next to results.h5 does.
  const fs::path stamp = partial_ / kStamp, done = output_ / kStampWhenDone;
  // Only here, after require_own(): nothing is removed before all of it is known to be the program's.
  if (again) {
    remove_partial_files();
    if (const std::string file = end_of_links(results_file()); is_results_file(file)) remove_own_file(file);
  }
  if (fs::exists(results_file())) {
    if (fs::exists(done) && read_file(done.string()) == mine) {
      read_on_trial(results_file());  // what follows reads it
      return true;
    }
    throw UsageError(fmt::format("{} holds other results", results_file()), "this sweep would replace them",
                     kKeepOrReplace);
  }
  if (!fs::exists(stamp)) {
    mark_folder(partial_.string());
    write_file(stamp.string(), mine);
  } else if (read_file(stamp.string()) != mine) {
    throw UsageError(fmt::format("{} holds finished variants of another sweep", partial_.string()),
                     "the deck or the number of ranks has changed", kKeepOrReplace);
  }
  return false;
}

int SweepFolder::prepare(const Variant& variant) const {
  if (!variant.error.empty()) record_failure(variant, {ExitCode::usage, variant.error});
  const int begun = times_begun(variant);
  if (begun >= kMostStarts && is_open(variant))
    record_failure(variant, {ExitCode::environment, "the job ended twice while this variant ran (a rank was killed)"});
  if (!is_open(variant)) return kDone;
  if (begun > 0) log_info(fmt::format("{} runs again: the job ended in the middle of it", variant.name));
  // Before the variant begins: whatever ends the job in it, a kill without a last word included, finds this mark.
  write_file(path(variant, ".running").string(), std::to_string(begun + 1));
  return kOpen;
}

void SweepFolder::leave(const Variant& variant) const {
  remove_own_file(path(variant, ".running").string());
}

void SweepFolder::record_failure(const Variant& variant, const VariantFailure& failure) const {
  const nlohmann::ordered_json json = {{"exit_code", static_cast<int>(failure.code)}, {"error", failure.why}};
  write_file(path(variant, ".failed").string(), json_text(json) + "\n");
}

int SweepFolder::times_begun(const Variant& variant) const {
  const fs::path file = path(variant, ".running");
  if (!fs::exists(file)) return 0;
  // Anything else counts as the most: a variant that may have ended the job twice does not run again.
  return read_file(file.string()) == "1" ? 1 : kMostStarts;
}

bool SweepFolder::is_finished(const Variant& variant) const {
  return fs::exists(path(variant, ".h5"));
}

bool SweepFolder::is_open(const Variant& variant) const {
  return variant.error.empty() && !is_finished(variant) && !fs::exists(path(variant, ".failed"));
}

VariantFailure SweepFolder::failure(const Variant& variant) const {
  const std::string file = path(variant, ".failed").string();
  const std::string problem = fmt::format("{} is damaged", file);
  const char* const suggestion = "Remove it: the variant then runs again.";
  const auto json = parse_json_object<nlohmann::json>(read_file(file), problem, suggestion);
  const JsonReader reader(json, problem, {}, suggestion);
  const auto code = exit_code_of(reader.whole("exit_code", 0, 255));
  if (!code) throw DataError(problem, "its exit code is not one that multicard uses", suggestion);
  return {*code, reader.text("error")};
}

std::string SweepFolder::describe(const Variant& variant) const {
  return is_finished(variant) ? "already finished" : "failed: " + failure(variant).why;
}

void SweepFolder::remove_partial() const {
  const fs::path stamp = partial_ / kStamp;
  if (fs::exists(stamp)) write_file((output_ / kStampWhenDone).string(), read_file(stamp.string()));
  remove_partial_files();
}

void SweepFolder::require_own(const std::vector<Variant>& variants) const {
  require_own_results(results_file());
  require_own_file((output_ / kStampWhenDone).string(), "the mark of a sweep that has finished", is_stamp);
  require_own_folder(partial_.string(), "variants of a sweep", is_partial_file);
  for (const std::string& name : names_in(partial_.string()))
    if (const std::string file = (partial_ / name).string(); is_partial_name(name) && !is_partial_file(file))
      refuse_foreign(file, "a variant of the sweep");
  for (const Variant& variant : variants) {
    if (!variant.error.empty()) continue;
    RunOptions options = read_run_options(variant.deck);
    options.run.output = variant_output(variant);
    require_own_output(options);
  }
}

void SweepFolder::remove_partial_files() const {
  remove_own_files(partial_.string(), is_partial_file);
}

RunSettings sweep_settings(const std::vector<Variant>& variants) {
  if (variants.empty()) throw UsageError("the sweep has no variants");
  for (const char* key : {"run.output", "run.resume", "run.wall_limit"})
    if (variants.front().overrides.count(key))
      throw UsageError(fmt::format("{} cannot be an axis of a sweep", key), "it holds for the sweep as a whole");
  for (const Variant& variant : variants)
    if (variant.error.empty()) return read_run_options(variant.deck).run;
  throw UsageError("every variant of the sweep is refused", variants.front().error);
}

void check_any_inputs(const std::vector<Variant>& variants) {
  std::optional<Error> missing;
  for (const Variant& variant : variants) {
    if (!variant.error.empty()) continue;
    const std::optional<Error> error = error_of([&] { check_inputs(read_run_options(variant.deck)); });
    if (!error) return;
    if (!missing) missing = error;
  }
  if (missing) throw Error(*missing);
}

}  // namespace multicard
