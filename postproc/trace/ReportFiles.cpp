#include "postproc/trace/ReportFiles.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "io/OwnFiles.hpp"

namespace multicard::post {

void JobOfTraces::add(const std::string& file, std::int64_t rank, const Trace& trace) {
  const auto [taken, is_new] = file_of_.emplace(rank, file);
  if (!is_new)
    throw UsageError(fmt::format("{} and {} are both of rank {}", taken->second, file, rank), "",
                     "Name one trace for each rank.");
  if (trace.rank) stated_file_of_.emplace(rank, file);
  if (!trace.world_size) return;
  if (!size_) size_ = {*trace.world_size, file};
  if (size_->ranks != *trace.world_size)
    throw UsageError(fmt::format("{} is of a job of {}, and {} of one of {}", size_->file,
                                 counted(size_->ranks, "rank"), file, counted(*trace.world_size, "rank")),
                     "", "Name the traces of one job.");
}

void JobOfTraces::require_ranks_within() const {
  if (!size_ || stated_file_of_.empty()) return;
  const auto& [rank, file] = *stated_file_of_.rbegin();
  if (rank >= size_->ranks)
    throw UsageError(
        fmt::format("{} is of rank {}, and {} of a job of {}", file, rank, size_->file, counted(size_->ranks, "rank")),
        "", "Name the traces of one job.");
}

void require_no_other_report(const std::filesystem::path& folder, const std::string& kind) {
  const std::string other = kind == "trace" ? "profile" : "trace", page = (folder / (other + ".html")).string();
  if (!content_says(page, "<!DOCTYPE html>", "Report by multicard-post")) return;
  throw UsageError(fmt::format("{} holds a report of multicard-post {}", folder.string(), other),
                   "its CSV files have the names of those of this report", "Name another folder with -o.");
}

}  // namespace multicard::post
