#include "postproc/reduce/ProfileSum.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace multicard::post {

namespace {

constexpr std::int64_t kNoNumber = -1;  ///< of a GPU: several are meant

/// \name What names a row
/// @{
template <class Row>
std::string_view key_of(const Row& row) {
  return row.name;
}
std::string_view key_of(const CopyRow& row) {
  return row.direction;
}
std::pair<std::string_view, std::string_view> key_of(const OperatorRow& row) {
  return {row.name, row.phase};
}
std::pair<std::string_view, std::string_view> key_of(const BlockRow& row) {
  return {row.name, row.pass};
}
std::int64_t key_of(const StreamRow& row) {
  return row.stream;
}
std::int64_t key_of(const GpuTime& /*row*/) {
  return 0;
}
/// @}

/// A key that outlives its row.
/// @{
std::string lasting(std::string_view key) {
  return std::string(key);
}
std::pair<std::string, std::string> lasting(const std::pair<std::string_view, std::string_view>& key) {
  return {std::string(key.first), std::string(key.second)};
}
std::int64_t lasting(std::int64_t key) {
  return key;
}
/// @}

/// \name Adds a row of the same key
/// @{
void add_to(Distribution& sum, const Distribution& more) {
  if (more.count == 0) return;
  if (sum.count == 0) return void(sum = more);
  sum.count += more.count;
  sum.total += more.total;
  sum.max = std::max(sum.max, more.max);
  sum.p95 = std::max(sum.p95, more.p95);
  sum.mean = static_cast<double>(sum.total) / static_cast<double>(sum.count);
  sum.min.reset();
  sum.median.reset();
}
template <class Row>
void add_to(Row& sum, const Row& more) {
  add_to(sum.time, more.time);
  if constexpr (requires { sum.cost; }) sum.cost.add(more.cost);
}
void add_to(CopyRow& sum, const CopyRow& more) {
  add_to(sum.time, more.time);
  sum.bytes += more.bytes;
  sum.without_bytes += more.without_bytes;
}
void add_to(ThreadRow& sum, const ThreadRow& more) {
  sum.count += more.count;
  sum.window_ns += more.window_ns;
  sum.running_ns += more.running_ns;
  sum.waiting_ns += more.waiting_ns;
}
void add_to(ExchangeRow& sum, const ExchangeRow& more) {
  sum.totals.add(more.totals);
}
void add_to(FileRow& sum, const FileRow& more) {
  sum.totals.add(more.totals);
}
void add_to(MpiRow& sum, const MpiRow& more) {
  sum.calls += more.calls;
  sum.bytes += more.bytes;
  sum.ns += more.ns;
}
void add_to(GpuTime& sum, const GpuTime& more) {
  sum.span += more.span;
  sum.busy += more.busy;
  sum.compute += more.compute;
  sum.communication += more.communication;
  sum.memory += more.memory;
  sum.overlap += more.overlap;
  sum.device = kNoNumber;
}
void add_to(StreamRow& sum, const StreamRow& more) {
  sum.count += more.count;
  sum.span += more.span;
  sum.busy += more.busy;
  add_to(sum.gaps, more.gaps);
  sum.host_bound_gaps += more.host_bound_gaps;
  sum.host_bound_ns += more.host_bound_ns;
  sum.device = kNoNumber;
}
/// @}

/// One table, to which rows of the same key add up.
template <class Row>
class RowSum {
 public:
  void add_rows(const std::vector<Row>& more) {
    for (const Row& row : more) {
      const std::size_t place = place_of(row);
      if (place == rows_.size())
        rows_.push_back(row);
      else
        add_to(rows_[place], row);
      next_ = place + 1;
    }
  }

  std::vector<Row> take() { return std::move(rows_); }

 private:
  /// That of the row with the same key, or the end. Ranks have much the same rows in the same order: the one after the
  /// last is looked at first.
  std::size_t place_of(const Row& row) {
    if (next_ >= rows_.size()) next_ = 0;
    if (next_ < rows_.size() && key_of(rows_[next_]) == key_of(row)) return next_;
    return places_.emplace(lasting(key_of(row)), rows_.size()).first->second;
  }

  std::map<decltype(lasting(key_of(std::declval<Row>()))), std::size_t> places_;
  std::vector<Row> rows_;
  std::size_t next_ = 0;
};

}  // namespace

struct ProfileAdder::Tables {
  std::int64_t rank_steps = 0, window_ns = 0;
  LaunchDelays delays;
  RowSum<NamedTimes> calls, kernels, collectives;
  RowSum<CopyRow> copies;
  RowSum<PhaseRow> phases;
  RowSum<BlockRow> blocks;
  RowSum<OperatorRow> operators;
  RowSum<ThreadRow> threads;
  RowSum<ExchangeRow> exchanges;
  RowSum<FileRow> files;
  RowSum<MpiRow> mpi;
  RowSum<GpuTime> gpus;
  RowSum<StreamRow> streams;

  /// Calls `visit` with the rows of each table of a profile and their sum.
  template <class Visit>
  void for_each(Visit&& visit) {
    visit(&Profile::calls, calls);
    visit(&Profile::kernels, kernels);
    visit(&Profile::collectives, collectives);
    visit(&Profile::copies, copies);
    visit(&Profile::phases, phases);
    visit(&Profile::blocks, blocks);
    visit(&Profile::operators, operators);
    visit(&Profile::threads, threads);
    visit(&Profile::exchanges, exchanges);
    visit(&Profile::files, files);
    visit(&Profile::mpi, mpi);
    visit(&Profile::gpus, gpus);
    visit(&Profile::streams, streams);
  }
};

ProfileAdder::ProfileAdder() : tables_(std::make_unique<Tables>()) {}

ProfileAdder::~ProfileAdder() = default;

void ProfileAdder::add(const Profile& profile, std::int64_t rank_steps) {
  tables_->rank_steps += rank_steps;
  tables_->window_ns += profile.window_ns;
  add_to(tables_->delays.from_start, profile.delays.from_start);
  add_to(tables_->delays.from_end, profile.delays.from_end);
  add_to(tables_->delays.queue, profile.delays.queue);
  tables_->delays.unmatched += profile.delays.unmatched;
  tables_->for_each([&](auto rows, auto& sum) { sum.add_rows(profile.*rows); });
}

ProfileSum ProfileAdder::take() {
  ProfileSum sum;
  sum.rank_steps = tables_->rank_steps;
  sum.total.window_ns = tables_->window_ns;
  sum.total.delays = tables_->delays;
  tables_->for_each([&](auto rows, auto& of_rows) { sum.total.*rows = of_rows.take(); });
  return sum;
}

ProfileSum sum_of(const std::vector<Profile>& of_ranks) {
  ProfileAdder adder;
  for (const Profile& profile : of_ranks)
    adder.add(profile, profile.num_steps);
  return adder.take();
}

ProfileSum sum_of(const std::vector<const ProfileSum*>& of_runs) {
  ProfileAdder adder;
  for (const ProfileSum* run : of_runs)
    adder.add(run->total, run->rank_steps);
  ProfileSum sum = adder.take();
  add_shares(sum.total);
  sort_rows(sum.total);
  return sum;
}

}  // namespace multicard::post
