#include "prepare/sets/Prepare.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "comm/Agreement.hpp"
#include "prepare/files/SourceFiles.hpp"
#include "prepare/images/ImageSource.hpp"
#include "prepare/sets/DatasetScan.hpp"
#include "prepare/sets/ShardWriter.hpp"
#include "prepare/sets/Split.hpp"

namespace multicard {

namespace {

void check_options(const PrepareOptions& options) {
  check_shard_options(options);
  constexpr std::int64_t kLargestSize = 1 << 15;
  const auto check = [](bool is_right, const std::string& problem) {
    if (!is_right) throw UsageError(problem);
  };
  check(!options.size || (*options.size >= 1 && *options.size <= kLargestSize),
        fmt::format("--size must lie between 1 and {}", kLargestSize));
  check(!options.limit || *options.limit >= 1, "--limit must be at least 1");
  check(!options.classes || *options.classes >= 1, "--classes must be at least 1");
  check(!options.classes || options.class_names.empty() ||
            *options.classes == static_cast<std::int64_t>(options.class_names.size()),
        fmt::format("--classes is {}, but {} --class-names are given", options.classes.value_or(0),
                    options.class_names.size()));
}

/// Classes are known by their names, and HDF5 attributes hold UTF-8.
void check_class_names(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!is_valid_utf8(name))
      throw DataError(fmt::format("the class name {} is not UTF-8", name), "shards hold names as UTF-8",
                      "Rename it, or give all names with --class-names A,B,...");
    if (!seen.insert(name).second)
      throw DataError(fmt::format("two classes are called {}", name), "classes are known by their names",
                      "Give all names with --class-names A,B,...");
  }
}

std::vector<std::string> class_names(const PrepareOptions& options, const ImageSource& source) {
  if (!options.class_names.empty()) return options.class_names;
  std::vector<std::string> names = source.class_names();
  if (options.classes) names.resize(static_cast<std::size_t>(*options.classes));
  for (std::size_t label = 0; label < names.size(); ++label)
    if (names[label].empty()) names[label] = std::to_string(label);
  return names;
}

/// One set, or with options.split two of them, each in input order.
std::vector<ShardSet> make_sets(const PrepareOptions& options, const DatasetScan& scan,
                                const std::vector<std::string>& names) {
  if (!options.split) return {{options.output, options.num_shards, scan.kept, scan.shape, names}};
  const std::vector<std::int64_t>& kept = scan.kept;
  const std::vector<bool> is_test =
      choose_test_part(static_cast<std::int64_t>(kept.size()), *options.split, options.split_seed);
  ShardSet train{options.output + "-train", options.num_shards, {}, scan.shape, names};
  ShardSet test{options.output + "-test", options.num_shards, {}, scan.shape, names};
  for (std::size_t i = 0; i < kept.size(); ++i)
    (is_test[i] ? test : train).images.push_back(kept[i]);
  return {train, test};
}

/// A class without pictures is neither learned nor measured; a split, a limit or damaged pictures may take its last.
void report_empty_classes(const ShardSet& set, const ImageSource& source) {
  constexpr std::size_t kMostNames = 5;
  std::vector<bool> is_there(set.class_names.size());
  for (const std::int64_t index : set.images)
    is_there[static_cast<std::size_t>(source.label(index))] = true;
  std::vector<std::string> names;
  for (std::size_t label = 0; label < is_there.size(); ++label)
    if (!is_there[label]) names.push_back(set.class_names[label]);
  if (names.empty()) return;
  const std::size_t num_empty = names.size();
  names.resize(std::min(num_empty, kMostNames));
  log_warning(fmt::format("{}-*.h5 have no image of {} of {} classes: {}{}", set.prefix, num_empty,
                          set.class_names.size(), join(names, ", "),
                          num_empty > kMostNames ? fmt::format(" and {} more", num_empty - kMostNames) : ""));
}

void report(const ShardSet& set, double seconds) {
  const double bytes = static_cast<double>(set.shape.num_bytes()) * static_cast<double>(set.images.size());
  log_info(fmt::format(
      "wrote {} images of {} x {} x {}, {} classes, {}, as {}{} in {}",
      grouped(static_cast<std::int64_t>(set.images.size())), set.shape.height, set.shape.width, set.shape.channels,
      set.class_names.size(), human_bytes(bytes), shard_path(set.prefix, 0, set.num_shards),
      set.num_shards == 1 ? "" : fmt::format(" and {} more", set.num_shards - 1), human_duration(seconds)));
}

// Files get their names only when those of all sets are complete; the journal makes the naming itself all or nothing.
PrepareResult write_sets(const PrepareOptions& options, const ImageSource& source, const DatasetScan& scan,
                         const std::vector<ShardSet>& sets, TimePoint start, const Communicator& communicator) {
  PrepareResult result;
  result.num_skipped = scan.num_skipped;
  std::vector<std::unique_ptr<ShardWriter>> writers;
  {
    PrepareProgress progress("writing", static_cast<std::int64_t>(scan.kept.size()), "images", communicator,
                             options.quiet ? Loudness::quiet : Loudness::normal);
    for (const ShardSet& set : sets) {
      writers.push_back(std::make_unique<ShardWriter>(source, set, communicator));
      writers.back()->write_images(progress);
      writers.back()->write_attributes(hash_files(source.files(set.images), communicator));
    }
  }
  NamingJournal journal(options.output, names_of(writers), communicator);
  for (const auto& writer : writers)
    writer->commit();
  journal.finish();
  for (const auto& writer : writers) {
    const std::vector<std::string> paths = writer->paths();
    result.num_images += static_cast<std::int64_t>(writer->set().images.size());
    result.files.insert(result.files.end(), paths.begin(), paths.end());
    if (!options.quiet) report(writer->set(), seconds_since(start));
  }
  return result;
}

}  // namespace

PrepareResult prepare_images(const PrepareOptions& options, const Communicator& communicator) {
  const TimePoint start = SteadyClock::now();
  agreed(communicator, [&] {
    check_options(options);
    if (communicator.is_root()) free_interrupted_names(options.output);
    if (communicator.is_root() && !options.split) require_no_shards(options.output);
  });
  const std::unique_ptr<ImageSource> source = open_image_source(options, communicator);
  const std::vector<std::string> names = agreed(communicator, [&] {
    std::vector<std::string> found = class_names(options, *source);
    check_class_names(found);
    return found;
  });
  // Everything that can be refused is refused before the first byte is written: labels, sizes, existing shards, empty
  // shards.
  const DatasetScan scan = scan_images(*source, options, static_cast<std::int64_t>(names.size()), communicator);
  const std::vector<ShardSet> sets = make_sets(options, scan, names);
  agreed(communicator, [&] {
    if (!communicator.is_root()) return;
    for (const ShardSet& set : sets)
      check_shard_set(set.prefix, static_cast<std::int64_t>(set.images.size()), set.num_shards, "images");
    for (const ShardSet& set : sets)
      report_empty_classes(set, *source);
  });
  return write_sets(options, *source, scan, sets, start, communicator);
}

}  // namespace multicard
