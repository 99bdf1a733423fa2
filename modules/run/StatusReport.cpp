#include "run/StatusReport.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Quantiles.hpp"
#include "base/System.hpp"
#include "comm/BeatNumbers.hpp"
#include "device/HostTensors.hpp"
#include "device/Memory.hpp"
#include "findings/RankResources.hpp"
#include "results/MetricSink.hpp"
#include "run/LiveFindings.hpp"

namespace multicard {

namespace {

constexpr double kPostS = 1, kJudgeS = 5;      ///< seconds between posts, and between looks for findings
constexpr std::size_t kNewest = 20;            ///< steps of a mean
constexpr std::size_t kJudged = 512;           ///< steps that findings are about
constexpr std::size_t kSlownessSamples = 120;  ///< of a rank

/// By which beats of this run are known: ranks may still send those of another.
double token_of(const std::string& output) {
  return static_cast<double>(std::hash<std::string>()(output) >> 12U);
}

/// Means over the newest steps.
WatchedRank rank_of(const std::vector<StepTimes>& steps, std::int64_t rank) {
  WatchedRank of{rank};
  const std::size_t count = std::min(steps.size(), kNewest);
  double step = 0, data = 0, reduce = 0;
  for (std::size_t i = steps.size() - count; i < steps.size(); ++i) {
    step += steps[i].step;
    data += steps[i].phases[static_cast<std::size_t>(Phase::data_wait)];
    reduce += steps[i].phases[static_cast<std::size_t>(Phase::reduce_wait)];
  }
  if (count == 0 || step <= 0) return of;
  of.step_s = step / static_cast<double>(count);
  of.own_s = (step - reduce) / static_cast<double>(count);
  of.data_share = data / step;
  of.reduce_share = reduce / step;
  return of;
}

std::array<double, kPhaseNames.size()> shares_of(const std::vector<StepTimes>& steps) {
  std::array<double, kPhaseNames.size()> shares{};
  double total = 0;
  for (std::size_t i = steps.size() - std::min(steps.size(), kNewest); i < steps.size(); ++i) {
    total += steps[i].step;
    for (std::size_t phase = 0; phase < shares.size(); ++phase)
      shares[phase] += steps[i].phases[phase];
  }
  for (double& share : shares)
    share = total > 0 ? share / total : kNone;
  return shares;
}

std::vector<WatchedMemory> memory_of(const TrainingSetup& setup) {
  std::vector<WatchedMemory> memory{{"host", resident_bytes(), peak_resident_bytes()},
                                    {"host_tensors", host_tensor_memory().allocated, host_tensor_memory().peak}};
  if (!setup.device().gpu) return memory;
  const DeviceMemory device = device_memory(setup.device().device);
  memory.push_back({"device_tensors", device.allocated, device.peak_allocated});
  memory.push_back({"device_reserved", device.reserved, device.peak_reserved});
  return memory;
}

std::map<std::string, std::int64_t> predicted_of(const MemoryEstimate& estimate) {
  std::map<std::string, std::int64_t> bytes{{"weights", estimate.parameters + estimate.frozen + estimate.reference},
                                            {"gradients", estimate.gradients},
                                            {"optimizer", estimate.optimizer},
                                            {"activations", estimate.work()},
                                            {"loader", estimate.loader},
                                            {"total", estimate.total()}};
  std::erase_if(bytes, [](const auto& kind) { return kind.second == 0; });
  return bytes;
}

/// The state of the run, and of the whole where the run is all there is.
void set_state(WatchStatus& status, WatchState state) {
  if (status.run) status.run->state = name_of(state);
  const bool ends = is_end(state) && status.is_ended_by_command;
  if (status.kind == "run") status.state = name_of(ends ? WatchState::writing : state);
}

}  // namespace

StatusReport::StatusReport(const TrainingSetup& setup, std::string name) : setup_(setup), name_(std::move(name)) {}

void StatusReport::begin(const RunRecorder& recorder, std::shared_ptr<StatusWriter> writer,
                         const MemoryEstimate& predicted) {
  recorder_ = &recorder;
  writer_ = std::move(writer);
  if (!writer_) return;
  fixed_.name = name_;
  fixed_.output = setup_.options.run.output;
  fixed_.ranks = setup_.communicator.size();
  fixed_.hosts = setup_.context.topology().num_nodes;
  fixed_.unit = setup_.data().unit().name;
  fixed_.total_steps = setup_.num_steps;
  fixed_.epochs = setup_.num_epochs();
  fixed_.step = recorder.first_step();
  fixed_.started = seconds_since_1970();
  fixed_.predicted = predicted_of(predicted);
  fixed_.state = name_of(WatchState::training);
  fixed_.phases.fill(kNone);
  writer_->change([run = fixed_](WatchStatus& status) {
    status.run = run;
    set_state(status, WatchState::training);
  });
  writer_->write_soon();
}

void StatusReport::enter(WatchState state) {
  state_ = state;
  if (writer_) writer_->change([state](WatchStatus& status) { set_state(status, state); });
}

void StatusReport::problem(const std::string& text) {
  if (!writer_) return;
  writer_->change([text](WatchStatus& status) {
    if (status.run) status.run->problem = text;
  });
}

void StatusReport::add_to_history(double loss) {
  const std::vector<StepTimes>& steps = recorder_->steps().steps();
  for (; num_in_history_ < steps.size(); ++num_in_history_) {
    const std::int64_t step = recorder_->first_step() + static_cast<std::int64_t>(num_in_history_);
    const auto work = static_cast<double>(setup_.data().work_in(step));
    worked_units_ += work;
    history_.add(step + 1, num_in_history_ + 1 == steps.size() ? loss : kNone, steps[num_in_history_].step, work);
  }
}

std::optional<std::string> StatusReport::step(const ProgressState& state) {
  if (!recorder_) return std::nullopt;
  if (writer_) add_to_history(state.loss);
  last_ = state;
  if (seconds_since(posted_) < kPostS) return std::nullopt;
  posted_ = SteadyClock::now();
  send_numbers();
  if (!writer_) return std::nullopt;
  if (std::optional<std::string> problem = try_post(state)) return problem;
  return writer_->take_warning();
}

/// Only rank 0 comes here: what goes wrong must not end the job.
std::optional<std::string> StatusReport::try_post(const ProgressState& state) {
  try {
    post(state);
    return std::nullopt;
  } catch (const std::exception& error) {
    writer_ = nullptr;
    return fmt::format("status.json is given up ({}). The run continues without it.", error.what());
  }
}

void StatusReport::send_numbers() const {
  if (setup_.communicator.size() == 1) return;
  const WatchedRank mine = ranks().front();
  set_beat_numbers({token_of(setup_.options.run.output), static_cast<double>(last_.step), mine.step_s, mine.own_s,
                    mine.data_share, mine.reduce_share, mine.core_wait_share, mine.throttled});
}

std::vector<WatchedRank> StatusReport::ranks() const {
  std::vector<WatchedRank> ranks{rank_of(recorder_->steps().steps(), setup_.communicator.rank())};
  for (const RankResources& mine : reduce_resources(recorder_->newest(0))) {
    ranks.front().core_wait_share = mine.core_wait;
    ranks.front().throttled = mine.gpu_throttled;
  }
  // Rank 0 of the job is rank 0 of any run that it takes part in, on ranks without a gap.
  if (!setup_.communicator.is_root()) return ranks;
  for (const auto& [rank, numbers] : heard_beat_numbers()) {
    if (rank >= setup_.communicator.size() || numbers[0] != token_of(setup_.options.run.output)) continue;
    ranks.push_back({rank, numbers[2], numbers[3], numbers[4], numbers[5], numbers[6], numbers[7]});
  }
  return ranks;
}

void StatusReport::note_slowness(const std::vector<WatchedRank>& ranks) {
  for (const WatchedRank& rank : ranks) {
    std::vector<double> others;
    for (const WatchedRank& other : ranks)
      if (other.rank != rank.rank && std::isfinite(other.own_s)) others.push_back(other.own_s);
    if (others.empty() || !std::isfinite(rank.own_s)) continue;
    std::deque<double>& samples = slowness_[rank.rank];
    samples.push_back(rank.own_s / median(others));
    if (samples.size() > kSlownessSamples) samples.pop_front();
  }
}

/// Evaluations and checkpoints.
void StatusReport::add_metrics(WatchedRun& run) {
  const auto& metrics = recorder_->steps().metrics();
  for (const auto& [name, series] : metrics) {
    if (!name.starts_with("eval_") || series.values.empty()) continue;
    run.evaluation[name] = series.values.back();
    run.evaluated_at = std::max(run.evaluated_at, series.steps.back());
  }
  const auto written = metrics.find("checkpoint_write_s"), waited = metrics.find("checkpoint_stall_s");
  if (written == metrics.end() || written->second.values.empty()) return;
  run.checkpoint = {written->second.steps.back(), kNone, written->second.values.back(), kNone};
  // One of before a resume was written at a time that is not known.
  if (run.checkpoint.step != checkpoint_step_ && run.checkpoint.step > recorder_->first_step())
    checkpoint_time_ = seconds_since_1970();
  checkpoint_step_ = run.checkpoint.step;
  run.checkpoint.time = checkpoint_time_;
  if (waited != metrics.end() && !waited->second.values.empty())
    run.checkpoint.training_s = waited->second.values.back();
}

void StatusReport::post(const ProgressState& state) {
  WatchedRun run = fixed_;
  run.state = name_of(state_);
  run.step = state.step;
  run.epoch = state.epoch + 1;
  run.loss = state.loss;
  run.learning_rate = state.learning_rate;
  run.rate = state.rate;
  run.step_s = state.step_s;
  run.left_s = static_cast<double>(state.num_steps - state.step) * state.step_s;
  run.worked_units = worked_units_;
  run.phases = shares_of(recorder_->steps().steps());
  run.per_rank = ranks();
  note_slowness(run.per_rank);
  run.memory = memory_of(setup_);
  run.history = history_.points();
  add_metrics(run);
  std::optional<FindingInput> evidence;
  if (seconds_since(judged_) >= kJudgeS) {
    judged_ = SteadyClock::now();
    const bool reads_all = setup_.options.parallel.strategy == StrategyName::ddp;
    const double rows =
        static_cast<double>(setup_.rows_before(state.step) - setup_.rows_before(recorder_->first_step()));
    evidence = FindingInput{recorder_->newest(kJudged), run.per_rank, slowness_, fixed_.ranks,
                            reads_all ? rows : rows / static_cast<double>(fixed_.ranks)};
  }
  writer_->change([run = std::move(run), evidence = std::move(evidence)](WatchStatus& status) {
    const std::optional<WatchedRun> before = std::exchange(status.run, run);
    if (before) status.run->problem = before->problem;
    if (evidence)
      status.run->findings = findings_from(*evidence);
    else if (before && before->output == run.output)
      status.run->findings = before->findings;
  });
}

void StatusReport::end(RunStatus status, const std::optional<Error>& failure) {
  if (!writer_) return;
  last_.num_steps = fixed_.total_steps;
  if (last_.step > 0) {
    judged_ = {};
    if (const auto problem = try_post(last_)) return log_warning(*problem);
  }
  if (failure) problem(failure->what());
  const WatchState state = status == RunStatus::complete ? WatchState::finished
                           : status == RunStatus::failed ? WatchState::failed
                                                         : WatchState::interrupted;
  writer_->change([state](WatchStatus& whole) {
    if (whole.run) whole.run->left_s = state == WatchState::finished ? 0 : kNone;
    set_state(whole, state);
  });
  writer_ = nullptr;
}

}  // namespace multicard
