#include "SweepFolder.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "results/ResultsReader.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// One text that two launches of the same sweep share: its scale and every variant with its deck.
std::string identity(const std::vector<Variant>& variants, SweepScale scale) {
  std::string text = scale == SweepScale::quick ? "quick\n" : "";
  for (const Variant& variant : variants)
    text += fmt::format("{} {} {} {}\n{}\n", variant.name, variant.ranks, variant.repeat, variant.case_name,
                        variant.deck.to_yaml());
  return sha256(text);
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
  const fs::path stamp = partial_ / "sweep.sha256", done = output_ / ".sweep.sha256";
  if (again) {
    fs::remove_all(partial_);
    fs::remove(results_file());
  }
  if (fs::exists(results_file())) {
    if (fs::exists(done) && read_file(done.string()) == mine) return true;
    throw UsageError(fmt::format("{} holds other results", results_file()), "this sweep would replace them",
                     kKeepOrReplace);
  }
  if (!fs::exists(stamp))
    write_file(stamp.string(), mine);
  else if (read_file(stamp.string()) != mine)
    throw UsageError(fmt::format("{} holds finished variants of another sweep", partial_.string()),
                     "the deck or the number of ranks has changed", kKeepOrReplace);
  return false;
}

int SweepFolder::prepare(const Variant& variant) const {
  if (fs::exists(path(variant, ".running")) && !fs::exists(path(variant, ".failed")))
    record_failure(variant, "the job ended while this variant ran (a rank failed or was killed)");
  if (!variant.error.empty()) record_failure(variant, variant.error);
  if (!is_open(variant)) return kDone;
  write_file(path(variant, ".running").string(), "");
  return kOpen;
}

void SweepFolder::leave(const Variant& variant) const {
  fs::remove(path(variant, ".running"));
}

void SweepFolder::record_failure(const Variant& variant, const std::string& why) const {
  write_file(path(variant, ".failed").string(), why);
}

bool SweepFolder::is_finished(const Variant& variant) const {
  return fs::exists(path(variant, ".h5"));
}

bool SweepFolder::is_open(const Variant& variant) const {
  return variant.error.empty() && !is_finished(variant) && !fs::exists(path(variant, ".failed"));
}

std::string SweepFolder::failure(const Variant& variant) const {
  const fs::path file = path(variant, ".failed");
  return fs::exists(file) ? read_file(file.string()) : std::string("unknown");
}

std::string SweepFolder::describe(const Variant& variant) const {
  return is_finished(variant) ? "already finished" : "failed: " + failure(variant);
}

void SweepFolder::remove_partial() const {
  const fs::path stamp = partial_ / "sweep.sha256";
  if (fs::exists(stamp)) fs::rename(stamp, output_ / ".sweep.sha256");
  fs::remove_all(partial_);
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

}  // namespace multicard
