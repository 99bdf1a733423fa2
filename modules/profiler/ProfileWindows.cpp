#include "profiler/ProfileWindows.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "device/EventDestroys.hpp"
#include "profile/trace/StepWindow.hpp"
#include "profile/trace/TraceProfile.hpp"
#include "results/ProfileTables.hpp"

namespace multicard {

namespace {

bool is_profiled(const ProfileOptions& options, std::int64_t step) {
  const std::int64_t length = options.skip_steps + options.steps;
  return step / length < options.repeat && step % length >= options.skip_steps;
}

constexpr const char* kDeviceMemory = "profile/device_memory";

RankTable table_of(const MemoryLog::Looks& looks) {
  RankTable table;
  table.rules = {{"count", Merge::total}, {"allocated_bytes", Merge::total}};
  table.rows[{"allocations"}] = {{"count", static_cast<double>(looks.num)}, {"allocated_bytes", looks.bytes}};
  return table;
}

/// What the program reported, as part of the trace.
void add_ranges(RangeLog& log, KinetoTrace& recorded) {
  Trace& trace = recorded.trace;
  const auto thread_of = [&](std::int64_t thread) {
    const auto [known, is_new] = recorded.threads.emplace(thread, trace.num_threads);
    if (is_new) ++trace.num_threads;
    return known->second;
  };
  const std::int32_t destroy = trace.names.id("cudaEventDestroy");
  for (const LoggedCall& call : log.take_event_destroys())
    trace.calls.push_back({{call.begin, call.end}, -1, destroy, thread_of(call.thread)});
  for (const LoggedPhase& phase : log.take_phases())
    trace.phases.push_back({{phase.begin, phase.end}, phase.phase});
  for (const LoggedMemory& memory : log.take_memory())
    trace.allocations.push_back({memory.at, memory.bytes, thread_of(memory.thread)});
  std::vector<LoggedBlock> blocks = log.take_blocks();
  // In the order in which they were entered: a block ends, and is reported, after those within it.
  std::ranges::stable_sort(blocks, {}, &LoggedBlock::begin);
  for (const LoggedBlock& block : blocks) {
    BlockRange range;
    static_cast<Span&>(range) = {block.begin, block.end};
    range.name = trace.names.id(block.name);
    range.thread = thread_of(block.thread);
    range.first_node = block.first_node;
    range.end_node = block.end_node;
    trace.blocks.push_back(range);
  }
}

std::vector<ExchangeRow> exchange_rows(const ProfileWindows::Totals& now, const ProfileWindows::Totals& before) {
  std::vector<ExchangeRow> rows;
  for (const auto& [kind, totals] : totals_since(now, before))
    if (totals.calls > 0) rows.push_back({kind, totals});
  return rows;
}

}  // namespace

std::int64_t first_profiled_step(const ProfileOptions& options, std::int64_t first_step, std::int64_t num_steps) {
  const std::int64_t length = options.skip_steps + options.steps;
  const std::int64_t in_cycle = first_step % length;
  const std::int64_t next = first_step - in_cycle + std::max(in_cycle, options.skip_steps);
  return is_profiled(options, next) ? std::min(next, num_steps) : num_steps;
}

ProfileWindows::ProfileWindows(const ProfileOptions& options, at::Device device)
    : options_(options),
      device_(device),
      log_(options.trace ? ForTimeline::yes : ForTimeline::no),
      phases_(log_, device) {}

ProfileWindows::~ProfileWindows() = default;

bool ProfileWindows::is_due(std::int64_t step) const {
  return is_profiled(options_, step);
}

bool ProfileWindows::is_first(std::int64_t step) const {
  return is_due(step) && step % (options_.skip_steps + options_.steps) == options_.skip_steps;
}

void ProfileWindows::open(std::int64_t step, const Totals& totals) {
  if (has_failed_) return;
  if (!log_.open()) return fail("the profile window cannot open (another run of this process has one)");
  opened_ = SteadyClock::now();
  try {
    threads_ = thread_times();
    session_ = std::make_unique<KinetoSession>(device_, options_.shapes ? Shapes::in_names : Shapes::left_out);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  if (device_.is_cuda()) observe_event_destroys(&RangeLog::report_event_destroy);
  if (options_.memory) memory_ = std::make_unique<MemoryLog>(log_, device_);
  first_step_ = step;
  totals_ = totals;
  files_ = hdf5_totals();
  mpi_ = mpi_totals();
}

void ProfileWindows::fail(const std::string& message) {
  log_local_error(message + ". The run continues without further windows.");
  log_.close();
  has_failed_ = true;
}

void ProfileWindows::close(std::int64_t step, const Totals& totals) {
  if (!session_) return;
  observe_event_destroys(nullptr);
  if (memory_ && memory_->looks().num > 0) add_part(tables_[kDeviceMemory], table_of(memory_->looks()));
  memory_.reset();
  log_.close();
  try {
    take(step - first_step_, totals);
  } catch (const std::exception& error) {  // out of memory, too
    fail(error.what());
  }
  session_.reset();
}

void ProfileWindows::take(std::int64_t num_steps, const Totals& totals) {
  const std::map<std::int64_t, ThreadTimes> threads = thread_times();
  const auto window_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now() - opened_).count();
  KinetoTrace recorded = session_->stop();
  add_ranges(log_, recorded);
  recorded.trace.has_event_destroys = device_.is_cuda();
  recorded.trace.has_allocations = options_.memory;
  keep_steps(recorded.trace);
  if (device_.is_cuda() && recorded.trace.gpu.empty() && !std::exchange(has_warned_, true))
    log_warning(
        "the profile has no work of the GPU (CUPTI recorded none: another profiler, such as nsys or ncu, may hold it, "
        "or "
        "this user may not trace). Its other tables are complete. Start the run without the other profiler, or let the "
        "administrator allow tracing (NVreg_RestrictProfilingToAdminUsers=0 for the driver).");
  Profile profile = profile_of(recorded.trace, 0);
  profile.num_steps = num_steps;
  profile.window_ns = window_ns;
  profile.threads = thread_rows(threads_, threads, window_ns);
  profile.exchanges = exchange_rows(totals, totals_);
  for (const auto& [kind, files] : hdf5_totals_since(files_))
    profile.files.push_back({kind, files});
  for (const auto& [function, calls] : mpi_totals_since(mpi_))
    profile.mpi.push_back({function, calls.calls, calls.bytes, calls.ns});
  for (const auto& [path, table] : tables_of_profile(profile))
    add_part(tables_[path], table);
  if (options_.trace) keep_timeline(std::move(recorded), threads);
}

void ProfileWindows::keep_timeline(KinetoTrace recorded, const std::map<std::int64_t, ThreadTimes>& threads) {
  timeline_ = {std::move(recorded.trace), log_.take_timeline()};
  Timeline& timeline = timeline_->timeline;
  timeline.first_step = first_step_;
  timeline.threads = std::move(recorded.threads);
  // A thread may have ended since the window opened, or begun.
  for (const std::map<std::int64_t, ThreadTimes>& known : {std::cref(threads_), std::cref(threads)})
    for (const auto& [number, times] : known)
      timeline.thread_names.emplace(number, times.name);
}

}  // namespace multicard
