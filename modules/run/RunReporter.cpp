#include "run/RunReporter.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Mpi.hpp"
#include "device/Gpu.hpp"
#include "device/Memory.hpp"
#include "results/EventFile.hpp"
#include "results/JsonLines.hpp"

namespace multicard {

namespace {

/// "1 MB", "4 MiB"
std::string bucket_size(const RunOptions& options, const TensorCollectives& collectives) {
  if (options.parallel.measures_bucket) return "a measured size";
  if (const std::optional<double> size = options.parallel.bucket_mb) return fmt::format("{} MB", *size);
  return fmt::format("{} MiB", collectives.bucket_bytes() >> 20);
}

std::string strategy_text(const TrainingSetup& setup) {
  const ParallelOptions& parallel = setup.options.parallel;
  const auto num_buckets = static_cast<std::int64_t>(setup.strategy->num_buckets());
  return fmt::format("{}, {} backend, {} of up to {}{}{}", word_of(parallel.strategy, kStrategyWords),
                     setup.collectives->name(), counted(num_buckets, "bucket"),
                     bucket_size(setup.options, *setup.collectives),
                     parallel.overlap && !setup.gathers_weights() ? ", overlap" : "",
                     parallel.sync_batch_norm ? ", synchronised batch norm" : "");
}

/// Collective over the node.
void warn_of_shared_processors(const TrainingSetup& setup) {
  const int num_threads = setup.context.num_threads() * ranks_with_my_processors(setup.context.topology().node);
  const int num_cpus = available_cpus();
  if (!setup.device().gpu && num_threads > num_cpus)
    log_warning(
        fmt::format("{} compute threads share {}: steps take longer, and their times vary (start "
                    "fewer ranks, or lower OMP_NUM_THREADS)",
                    num_threads, counted(num_cpus, "processor")));
}

/// Means over the last steps.
ProgressState recent_steps(const std::vector<StepTimes>& steps, std::int64_t num_completed, const DataSource& data) {
  const std::size_t recent = std::min<std::size_t>(steps.size(), 20);
  ProgressState state;
  for (std::size_t i = steps.size() - recent; i < steps.size(); ++i) {
    // Shares are seconds until they are divided by the total below.
    state.step_s += steps[i].step / static_cast<double>(recent);
    state.data_share += steps[i].phases[static_cast<std::size_t>(Phase::data_wait)];
    state.reduce_share += steps[i].phases[static_cast<std::size_t>(Phase::reduce_wait)];
  }
  const double total = std::max(state.step_s * static_cast<double>(recent), 1e-12);
  state.data_share /= total;
  state.reduce_share /= total;
  std::int64_t work = 0;
  for (std::size_t i = 0; i < recent; ++i)
    work += data.work_in(num_completed - 1 - static_cast<std::int64_t>(i));
  state.rate = static_cast<double>(work) / total;
  return state;
}

}  // namespace

std::int64_t epoch_of_last(std::int64_t num_completed, std::int64_t steps_per_epoch) {
  return std::max<std::int64_t>(0, (num_completed - 1) / steps_per_epoch);
}

RunReporter::RunReporter(const TrainingSetup& setup, Verbosity verbosity, const RunLabel& label)
    : setup_(setup),
      progress_(setup.communicator.rank(), setup.options.run.log_every, verbosity, label),
      status_(setup, label.whole) {}

void RunReporter::describe(const MemoryEstimate& estimate, const ChoiceTexts& choices) const {
  const auto line = [](const std::string& label, const std::string& text) {
    log_info(fmt::format("{:<10}{}", label, text));
  };
  const std::string hosts = fmt::format("{} on {}", counted(setup_.communicator.size(), "rank"),
                                        counted(setup_.context.topology().num_nodes, "host"));
  line("ranks", fmt::format("{}, {}, {}", hosts, setup_.device().description, mpi_version()));
  if (!setup_.device().gpu && setup_.options.run.device == DeviceRequest::automatic && !gpu_problem())
    line("device", "no GPU found: everything is computed on the CPU (run.device is auto)");
  for (const auto& [label, text] : setup_.task->description())
    line(label, text);
  if (!choices.shard.empty()) line("shard", choices.shard);
  line("strategy", strategy_text(setup_));
  line("memory", fmt::format("predicted {}: tensors only, the program and its libraries add to it", estimate.text()));
  if (!choices.micro_batch.empty()) line("at once", choices.micro_batch);
  line("batch", fmt::format("{} rows, {} steps per epoch, {} steps in total", setup_.global_batch,
                            setup_.steps_per_epoch(), setup_.num_steps));
  warn_of_shared_processors(setup_);
}

void RunReporter::open_feed(RunRecorder& recorder) {
  if (!setup_.communicator.is_root()) return;
  const std::int64_t first_step = recorder.first_step();
  const RunSettings& run = setup_.options.run;
  feed_ = std::make_unique<MetricFeed>([this](const std::string& warning) {
    progress_.finish_line();
    log_warning(warning);
  });
  if (run.tensorboard)
    feed_->open([&] { return std::make_unique<EventFile>(run.output + "/tensorboard", first_step, recorder.deck()); });
  if (run.json_lines)
    feed_->open([&] { return std::make_unique<JsonLines>(run.output + "/metrics.jsonl", first_step); });
  recorder.steps().feed_metrics_to(*feed_, first_step);
}

void RunReporter::step(const std::vector<StepTimes>& steps, std::int64_t num_completed, const StepResult& last) {
  if (steps.empty()) return;
  const DataSource& data = setup_.data();
  ProgressState state = recent_steps(steps, num_completed, data);
  state.step = num_completed;
  state.unit = data.unit().abbreviation;
  state.num_steps = setup_.num_steps;
  state.epoch = epoch_of_last(num_completed, setup_.steps_per_epoch());
  state.num_epochs = setup_.num_epochs();
  state.loss = last.loss;
  state.learning_rate = last.learning_rate;
  if (seconds_since(memory_read_) > 1 || num_completed == setup_.num_steps) {
    memory_bytes_ = setup_.device().gpu ? device_memory(setup_.device().device).peak_allocated : peak_resident_bytes();
    memory_read_ = SteadyClock::now();
  }
  state.memory_bytes = memory_bytes_;
  progress_.step(state);
  if (const auto warning = status_.step(state)) divergence(*warning);
  if (!feed_ || (num_completed % setup_.options.run.log_every != 0 && num_completed < setup_.num_steps)) return;
  feed_->add(fmt::format("{}_per_s", data.unit().name), last.step, state.rate);
  feed_->add("step_s", last.step, state.step_s);
  feed_->flush();
}

void RunReporter::evaluation(const Evaluation& found, std::int64_t num_completed, double seconds) {
  pause();
  if (is_quiet()) return;
  const std::int64_t epoch = epoch_of_last(num_completed, setup_.steps_per_epoch());
  const std::string when = num_completed == 0
                               ? std::string("before step 1")
                               : fmt::format("step {}, epoch {}/{}", num_completed, epoch + 1, setup_.num_epochs());
  log_info(fmt::format("{:<10}{}: {}, {})", "test", when, setup_.task->describe(found), human_duration(seconds)));
}

void RunReporter::early_stop(const std::string& why, std::int64_t num_completed) {
  const std::string what = is_quiet() ? setup_.options.run.output + " ends " : fmt::format("{:<10}", "stop");
  log_info(fmt::format("{}early, after {} of {} steps: {} (evaluate.patience is {})", what, num_completed,
                       setup_.num_steps, why, setup_.options.evaluate.patience));
}

void RunReporter::exchange(const std::map<std::string, std::string>& reasons) {
  if (is_quiet()) return;
  pause();
  for (const auto& [key, reason] : reasons)
    log_info(fmt::format("{:<10}parallel.{} {}", "measured", key, reason));
}

void RunReporter::divergence(const std::string& warning) {
  status_.problem(warning);
  pause();
  log_warning(is_quiet() ? fmt::format("{}: {}", setup_.options.run.output, warning) : warning);
}

void RunReporter::questions(const QuestionScore& score, double seconds) {
  if (is_quiet()) return;
  log_info(fmt::format("{:<10}exact match {}, {}", "answers", score.text(), human_duration(seconds)));
}

void RunReporter::pause() {
  if (feed_) feed_->flush();
  progress_.finish_line();
}

}  // namespace multicard
