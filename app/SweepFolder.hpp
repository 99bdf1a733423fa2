#pragma once
/// \file What a sweep keeps on disk between its variants, so that a later launch resumes where an earlier one ended.

#include <filesystem>
#include <string>
#include <vector>

#include "base/Error.hpp"
#include "config/SweepOptions.hpp"
#include "tasks/options/RunSettings.hpp"
#include "tasks/options/Variant.hpp"

namespace multicard {

/// Why a variant has no results, and what a run of its own would have ended with.
struct VariantFailure {
  ExitCode code = ExitCode::defect;
  std::string why;
};

/// OUTPUT/partial/ of a sweep. NAME.h5: finished. NAME.failed: how it failed. NAME.running: it is running now, and how
/// often it was begun; found by a later launch it means that the job ended in the middle of it. One process (rank 0)
/// uses the folder at a time, but for record_failure.
class SweepFolder {
 public:
  /// Sweeps of different scales never take each other's variants, even where they are the same.
  SweepFolder(const std::string& output, SweepScale scale);

  /// Before anything is written or removed. \throws UsageError for what is not the program's where the sweep keeps its
  /// files, partial ones and those of variants included
  void require_own(const std::vector<Variant>& variants) const;
  /// Before the first variant. True when results.h5 already holds exactly these variants. Throws UsageError when it, or
  /// partial/, holds another sweep; with `again` old results and partial files are removed instead.
  bool open(const std::vector<Variant>& variants, bool again) const;

  static constexpr int kDone = 1, kOpen = 0;
  /// kOpen: the variant is to run now, and is marked as running. That includes one that was running when an earlier job
  /// ended, once. kDone: it has finished or failed before, was refused, or has seen two jobs end (then it counts as
  /// failed from now on).
  int prepare(const Variant& variant) const;
  /// The variant has ended in order.
  void leave(const Variant& variant) const;
  void record_failure(const Variant& variant, const VariantFailure& failure) const;

  bool is_finished(const Variant& variant) const;
  /// Neither finished nor failed nor refused: it is still to run.
  bool is_open(const Variant& variant) const;
  /// How a variant failed. DataError when that cannot be read.
  VariantFailure failure(const Variant& variant) const;
  /// "already finished", or "failed: WHY".
  std::string describe(const Variant& variant) const;

  std::string results_file() const { return (output_ / "results.h5").string(); }
  std::string partial_file(const Variant& variant) const { return path(variant, ".h5").string(); }
  /// Where a variant keeps its checkpoints, if the sweep asks for any.
  std::string variant_output(const Variant& variant) const { return (output_ / "variants" / variant.name).string(); }
  /// After the last one. Files in partial/ that are not the program's stay.
  void remove_partial() const;

 private:
  std::filesystem::path path(const Variant& variant, const char* ending) const;
  void remove_partial_files() const;
  /// How often the variant was begun without coming to an end.
  int times_begun(const Variant& variant) const;

  std::filesystem::path output_, partial_;
  SweepScale scale_;
};

/// The run settings all variants share (output, wall limit, resume). UsageError when every variant is refused, or when
/// run.output, run.resume or run.wall_limit is swept.
RunSettings sweep_settings(const std::vector<Variant>& variants);

/// DataError when no variant that could run finds its shards and its model folder: nothing would be measured.
void check_any_inputs(const std::vector<Variant>& variants);

}  // namespace multicard
