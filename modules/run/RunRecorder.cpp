#include "run/RunRecorder.hpp"

#include <algorithm>

#include "comm/Mpi.hpp"
#include "device/DeviceCopies.hpp"
#include "device/PeakRate.hpp"
#include "memory/MemoryEstimator.hpp"

namespace multicard {

namespace {

/// The word of the results file. A run under way has it too: what its checkpoint's records hold is complete.
const char* word_for(RunStatus status) {
  if (status == RunStatus::stopped) return "stopped";
  return status == RunStatus::failed ? "failed" : "complete";
}

RankTable stages_of(const LoadingTimes& times) {
  RankTable table;
  table.rules = {{"count", Merge::total}, {"bytes", Merge::total}, {"seconds", Merge::total}};
  for (std::size_t stage = 0; stage < kLoadingStages.size(); ++stage) {
    const LoadingTimes::Total total = times.total(static_cast<LoadingStage>(stage));
    if (total.count == 0) continue;
    table.rows[{kLoadingStages[stage]}] = {{"count", static_cast<double>(total.count)},
                                           {"bytes", static_cast<double>(total.bytes)},
                                           {"seconds", total.seconds}};
  }
  return table;
}

/// What came from other nodes since `before`, by the rank that sent it.
RankTable received_of(const ReceivedByRank& now, const ReceivedByRank& before) {
  RankTable table;
  table.keys = {"from_rank"};
  table.rules = {{"bytes", Merge::total}, {"seconds", Merge::total}};
  for (const auto& [rank, totals] : now) {
    const auto found = before.find(rank);
    const ReceivedTotals old = found == before.end() ? ReceivedTotals{} : found->second;
    table.rows[{std::to_string(rank)}] = {{"bytes", totals.bytes - old.bytes},
                                          {"seconds", totals.seconds - old.seconds}};
  }
  return table;
}

RankTable hdf5_of(const TotalsByKind& by_kind) {
  RankTable table;
  for_each_column<FileTotals>([&](const auto& column) {
    table.rules[column.name] = Merge::total;
    for (const auto& [kind, totals] : by_kind)
      table.rows[{kind}][column.name] = static_cast<double>(totals.*column.place);
  });
  return table;
}

}  // namespace

void RunRecorder::resume(std::int64_t first_step, const std::optional<History>& before) {
  first_step_ = first_step;
  if (!before) return;
  history_ = part_of(*before, setup_.communicator.rank(), setup_.communicator.size());
  steps_.continue_metrics(history_.metrics);
}

void RunRecorder::start_epoch() {
  epoch_start_ = SteadyClock::now();
  stalled_s_ = 0;
}

void RunRecorder::enter(Phase /*phase*/) {
  if (!copies_at_) copies_at_ = bytes_copied_within_devices();
}

void RunRecorder::end_step() {
  count_copies();
}

void RunRecorder::pause() {
  count_copies();
}

// The counter belongs to the process and includes copies of evaluations and checkpoints: only what it rises by between
// the first phase of a step and its end, or a pause, is the step's.
void RunRecorder::count_copies() {
  if (copies_at_) copied_ += bytes_copied_within_devices() - *copies_at_;
  copies_at_.reset();
}

void RunRecorder::add_train_seconds(std::int64_t epoch) {
  steps_.add_epoch_seconds("train", epoch, seconds_since(epoch_start_) - stalled_s_);
  start_epoch();
}

void RunRecorder::add_seconds(const std::string& column, std::int64_t epoch, double seconds) {
  steps_.add_epoch_seconds(column, epoch, seconds);
  stalled_s_ += seconds;
}

void RunRecorder::start_sampling() {
  const std::optional<GpuInfo>& gpu = setup_.device().gpu;
  resources_.emplace(
      ResourceSampler::Sources{gpu ? gpu->bus_id : "", setup_.device().num_sharing, job_local_rank() == 0});
}

void RunRecorder::take_totals(const MemoryEstimate& predicted, std::int64_t checkpoint_copies) {
  RankRecord& record = steps_.record();
  record_memory(predicted, setup_, record);
  record.memory["model/checkpoint_copies"] = checkpoint_copies;
  for (const auto& [part, bytes] : setup_.task->weight_parts())
    record.memory["model/" + part] = bytes;
  record.communication = totals_since(setup_.shard_groups->totals(), setup_.communication_before);
  const DataSource* test = setup_.test_data();
  record.transfers["host_to_device"] = setup_.data().bytes_to_device() + (test ? test->bytes_to_device() : 0);
  record.transfers["device_to_device"] = copied_;
  record.tables["input/stages"] = stages_of(setup_.data().loading_times());
  if (const RankTable received = received_of(setup_.shard_groups->received(), setup_.received_before);
      !received.rows.empty())
    record.tables["links/received"] = received;
  record.tables["io/hdf5"] = hdf5_of(hdf5_totals_since(setup_.files_before));
  if (resources_) record.resources = resources_->sample_and_copy();
  add_rates();
}

/// Of text: tokens and operations per second over all ranks, by rank 0's clock, of the steps recorded since.
/// num_rated_ moves forward only: a step is rated once, also where totals are taken at every checkpoint.
void RunRecorder::add_rates() {
  if (!setup_.options.is_language()) return;
  const std::vector<StepTimes>& steps = steps_.steps();
  for (; num_rated_ < steps.size(); ++num_rated_) {
    const std::int64_t step = first_step_ + static_cast<std::int64_t>(num_rated_);
    const double seconds = steps[num_rated_].step;
    steps_.add_metric("tokens_per_s", step, static_cast<double>(setup_.data().work_in(step)) / seconds);
    steps_.add_metric("model_flops_per_s", step, setup_.task->flops_in(step) / seconds);
  }
}

void RunRecorder::take_profile(const std::map<std::string, RankTable>& tables, double seconds) {
  for (const auto& [path, table] : tables)
    steps_.record().tables[path] = table;
  stalled_s_ += seconds;
}

void RunRecorder::complete_steps() {
  RankRecord& record = steps_.record();
  record.samples.resize(record.steps.size());
  for (auto& [name, counts] : record.counts)
    counts.resize(record.steps.size());
}

RunData RunRecorder::newest(std::size_t most_steps) const {
  constexpr std::size_t kSamples = 60;
  const std::vector<StepTimes>& steps = steps_.steps();
  const std::size_t warm_up = std::min(steps.size(), static_cast<std::size_t>(setup_.options.profile.skip_steps));
  const std::size_t num_steps = std::min(most_steps, steps.size() - warm_up);
  RunData run;
  run.ranks = 1;
  run.num_steps = steps.size();
  const auto column = [&](const char* name, auto&& of) {
    RankMatrix<double>& matrix = run.times[name];
    matrix = {1, num_steps, {}};
    for (auto step = steps.end() - static_cast<std::ptrdiff_t>(num_steps); step != steps.end(); ++step)
      matrix.values.push_back(of(*step));
  };
  column("step", [](const StepTimes& times) { return times.step; });
  for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase)
    column(kPhaseNames[phase], [phase](const StepTimes& times) { return times.phases[phase]; });
  if (resources_)
    for (auto& [name, values] : resources_->newest(kSamples))
      run.resources[name] = {1, values.size(), std::move(values)};
  run.summary.tables["input/stages"] = table_of_ranks({{0, stages_of(setup_.data().loading_times())}});
  // Those of a GPU would be waited for.
  if (!setup_.device().gpu)
    for (const auto& [kind, totals] : totals_since(setup_.shard_groups->totals(), setup_.communication_before))
      run.communication[kind] = {totals};
  run.summary.integers = {{"global_batch", setup_.global_batch}, {"micro_batch", rows_at_once(setup_)}};
  if (const std::optional<GpuInfo>& gpu = setup_.device().gpu)
    run.summary.integers["device_memory_bytes"] = gpu->memory_bytes / setup_.device().num_sharing;
  run.summary.text["deck"] = deck_;
  return run;
}

RunSummary RunRecorder::summary(RunStatus status) const {
  const RunOptions& options = setup_.options;
  const int num_ranks = setup_.communicator.size();
  RunSummary summary;
  summary.name = "main";
  summary.status = word_for(status);
  summary.skip_steps = options.profile.skip_steps;
  summary.text = {{"task", std::string(word_of(options.task, kTaskWords))},
                  {"strategy", std::string(word_of(options.parallel.strategy, kStrategyWords))},
                  {"backend", setup_.backend_name()},
                  {"precision", std::string(word_of(options.precision, kPrecisionWords))},
                  {"scaling", options.run.batch_per_rank ? "weak" : "strong"},
                  {"device", setup_.device().description},
                  {"deck", deck_}};
  summary.integers = {{"ranks", std::max(num_ranks, history_.num_ranks)},
                      {"threads", setup_.context.num_threads()},
                      {"global_batch", setup_.global_batch},
                      {"micro_batch", rows_at_once(setup_)},
                      {"pin_memory", options.data.pin_memory ? 1 : 0},
                      {"repeat", 0}};
  if (const auto peak = peak_flops_per_s(setup_.device().description, options.precision))
    summary.reals["peak_flops_per_s"] = *peak;
  if (const std::optional<GpuInfo>& gpu = setup_.device().gpu)
    summary.integers["device_memory_bytes"] = gpu->memory_bytes / setup_.device().num_sharing;
  setup_.task->add_attributes(summary);
  summary.segments = history_.segments;
  summary.segments.push_back({first_step_, num_ranks});
  return summary;
}

RankRows RunRecorder::rows() {
  return continue_rows(history_, steps_.record(), setup_.communicator.rank());
}

}  // namespace multicard
