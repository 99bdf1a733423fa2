#include "tasks/Session.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/Mpi.hpp"
#include "comm/Watchdog.hpp"
#include "device/DeviceError.hpp"
#include "device/Gpu.hpp"
#include "device/Memory.hpp"
#include "device/Precision.hpp"
#include "results/EventFile.hpp"
#include "results/JsonLines.hpp"
#include "tasks/RankSetup.hpp"

namespace multicard {

namespace {

/// Batch-norm statistics travel like any other small sum.
class CollectiveStatistics final : public StatisticsReducer {
 public:
  explicit CollectiveStatistics(TensorCollectives& collectives) : collectives_(collectives) {}
  int num_replicas() const override { return collectives_.size(); }
  int replica() const override { return collectives_.rank(); }
  void sum(at::Tensor& flat) override { collectives_.sum(flat); }

 private:
  TensorCollectives& collectives_;
};

std::string bucket_size(const RunOptions& options, const TensorCollectives& collectives) {
  if (const std::optional<double> size = options.parallel.bucket_mb) return fmt::format("{} MB", *size);
  return fmt::format("{} MiB", collectives.bucket_bytes() >> 20);
}

/// Collective over the node. Compute threads of all ranks that may use exactly the processors of this one.
int threads_on_my_processors(const Topology& topology, int threads) {
  const std::string mine = cpu_set_text();
  const auto all = topology.node.allgather(mine);
  return threads * static_cast<int>(std::count(all.begin(), all.end(), mine));
}

void check_world(const RunOptions& options, const Communicator& communicator) {
  const std::int64_t batch = options.run.batch_over(communicator.size());
  if (batch < communicator.size())
    throw EnvironmentError(fmt::format("{} ranks cannot share a global batch of {} rows", communicator.size(), batch),
                           "every rank needs at least one row of a full batch",
                           "Start fewer ranks or raise run.global_batch.")
        .on_all_ranks();
}

}  // namespace

Session::Session(const RunOptions& options, const std::string& deck_yaml, const Communicator& communicator,
                 const SessionOptions& session)
    : options_(options),
      deck_yaml_(deck_yaml),
      communicator_(communicator),
      topology_(find_topology(communicator)),
      device_(set_up_rank(options, communicator, topology_)),
      threads_(set_compute_threads(std::nullopt, topology_)),
      checkpoints_(options.run.output, options.run.keep_checkpoints, communicator),
      clock_(device_.device),
      recorder_(clock_.name()),
      progress_(communicator.rank(), options.run.log_every, session.voice == Voice::quiet),
      checkpoint_on_stop_(session.checkpoint_on_stop) {
  check_world(options_, communicator_);
  reset_peak_resident_bytes();
  release_cached_device_memory(device_.device);  // of a run before this one
  reset_peak_device_memory(device_.device);
  collectives_ = make_collectives(backend_from(options_.parallel.backend), communicator_, device_.device);
  if (options_.parallel.sync_batch_norm) statistics_ = std::make_unique<CollectiveStatistics>(*collectives_);
  task_ = make_session_task(options_, communicator_, device_.device, statistics_.get());
  global_batch_ = options_.run.batch_over(communicator_.size());
  const std::int64_t per_epoch = task_->steps_per_epoch();
  num_steps_ = options_.run.steps.value_or(options_.run.epochs * per_epoch);
  num_epochs_ = (num_steps_ + per_epoch - 1) / per_epoch;
  strategy_ = make_strategy(options_.parallel, *task_, *collectives_);
  if (strategy_->updates())
    optimizer_ = std::make_unique<Optimizer>(options_.optimizer, task_->parameters(), strategy_->gradients());
  if (precision_from(options_.precision) == Precision::fp16) scaler_.emplace(device_.device);
  if (options_.run.ema_decay > 0) average_.emplace(task_->model_part().tensors, options_.run.ema_decay);
  schedule_ = std::make_unique<Schedule>(options_.schedule, options_.optimizer.learning_rate, num_steps_);
  if (session.checkpoint) restore(*session.checkpoint);
  memory_need_ = agreed(communicator_, [&] { return predict_memory(); });
}

void Session::describe() const {
  const auto line = [](const std::string& label, const std::string& text) {
    log_info(fmt::format("{:<10}{}", label, text));
  };
  const std::string hosts =
      fmt::format("{} on {}", communicator_.size() == 1 ? "1 rank" : fmt::format("{} ranks", communicator_.size()),
                  topology_.num_nodes == 1 ? "1 host" : fmt::format("{} hosts", topology_.num_nodes));
  line("ranks", fmt::format("{}, {}, {}", hosts, device_.description, mpi_version()));
  if (!device_.gpu && options_.run.device == "auto" && !gpu_problem())
    line("device", "no GPU found: everything is computed on the CPU (run.device is auto)");
  for (const auto& [label, text] : task_->description())
    line(label, text);
  line("strategy", fmt::format("{}, {} backend, {} bucket{} of up to {}{}{}", options_.parallel.strategy,
                               collectives_->name(), strategy_->num_buckets(), strategy_->num_buckets() == 1 ? "" : "s",
                               bucket_size(options_, *collectives_), options_.parallel.overlap ? ", overlap" : "",
                               options_.parallel.sync_batch_norm ? ", synchronised batch norm" : ""));
  line("memory",
       fmt::format("predicted {}: tensors only, the program and its libraries add to it", memory_need_.text()));
  line("batch", fmt::format("{} rows, {} steps per epoch, {} steps in total", global_batch_, task_->steps_per_epoch(),
                            num_steps_));
  const int num_threads = threads_on_my_processors(topology_, threads_), num_cpus = available_cpus();
  if (!device_.gpu && num_threads > num_cpus)
    log_warning(
        fmt::format("{} compute threads share {} processor{}: steps take longer, and their times vary (start "
                    "fewer ranks, or lower OMP_NUM_THREADS)",
                    num_threads, num_cpus, num_cpus == 1 ? "" : "s"));
}

SessionResult Session::run(StopMonitor* stop) {
  SessionResult result;
  try {
    train_or_tell_of_device(stop);
  } catch (const Error& error) {
    if (error.scope() != Scope::all_ranks) throw;
    result.failure = error;
    status_ = "failed";
    checkpoints_.settle();
  }
  progress_.finish_line();
  if (feed_) feed_->flush();
  complete_record();
  result.summary = summarise();
  result.summary.metrics = recorder_.metrics();
  if (result.failure) result.summary.error = result.failure->what();
  result.rows = continue_rows(history_, recorder_.record(), communicator_.rank());
  result.record = std::move(recorder_.record());
  result.unit = task_->unit();
  return result;
}

void Session::train_or_tell_of_device(StopMonitor* stop) {
  try {
    train(stop);
  } catch (const c10::Error& error) {
    const std::int64_t step = trainer_ ? trainer_->num_completed() : first_step_;
    if (const auto found = device_error(error, fmt::format(" in step {}", step), "predicted " + memory_need_.text()))
      throw *found;
    throw;
  }
}

void Session::train(StopMonitor* stop) {
  TrainerOptions settings;
  settings.first_step = first_step_;
  settings.num_steps = num_steps_;
  settings.micro_batch = options_.run.micro_batch;
  settings.clip_norm = options_.optimizer.clip_norm;
  settings.results_lag = device_.device.is_cuda() ? 1 : 0;
  const TrainerParts parts{*task_,
                           *strategy_,
                           optimizer_.get(),
                           *schedule_,
                           clock_,
                           recorder_,
                           scaler_ ? &*scaler_ : nullptr,
                           average_ ? &*average_ : nullptr,
                           [this] { checkpoints_.let_change(); }};
  trainer_ = std::make_unique<Trainer>(parts, settings);
  open_feed();
  if (options_.run.keep_checkpoints > 0)
    agreed(communicator_, [&] { checkpoints_.prepare(checkpoint_parts()); });  // memory may run out on rank 0
  if (options_.evaluate.at_start && first_step_ == 0) evaluate_now();
  if (first_step_ == 0) ask(Moment::start);
  epoch_start_ = SteadyClock::now();
  make_up_evaluation();
  const std::int64_t per_epoch = task_->steps_per_epoch();
  epoch_start_ = SteadyClock::now();
  stalled_s_ = 0;
  while (!trainer_->finished()) {
    if (Watchdog* watchdog = communicator_.watchdog()) watchdog->set_step(trainer_->num_completed());
    trainer_->step({stop && stop->stop_requested(), stop && stop->take_checkpoint_request()});
    recorder_.add_step_times(clock_.take_finished());
    note_checkpoints();
    report_step();
    const std::int64_t done = trainer_->num_completed();
    const std::optional<StepResult>& last = trainer_->last_result();
    const bool stopping = last && last->requests.stop && !trainer_->finished();
    const bool epoch_ended = done % per_epoch == 0 || trainer_->finished();
    if (epoch_ended || stopping) add_train_seconds();
    if (stopping) {  // at once: whoever asked may not wait for an evaluation
      status_ = "stopped";
      break;
    }
    after_step(epoch_ended);
    if (!epoch_ended) continue;
    epoch_start_ = SteadyClock::now();
    stalled_s_ = 0;
  }
  trainer_->finish();
  const bool is_hasty = is_asked() && communicator_.allreduce(stop && stop->stop_requested() ? 1 : 0, ReduceOp::max);
  if (is_hasty) status_ = "stopped";  // the model is asked when the run goes on
  save_checkpoint();
  finish_checkpoints();
  if (status_ == "complete") ask(Moment::end);
}

/// The epoch of the last step.
std::int64_t Session::epoch() const {
  return std::max<std::int64_t>(0, (trainer_->num_completed() - 1) / task_->steps_per_epoch());
}

void Session::add_train_seconds() {
  recorder_.add_epoch_seconds("train", epoch(), seconds_since(epoch_start_) - stalled_s_);
  epoch_start_ = SteadyClock::now();
  stalled_s_ = 0;
}

bool Session::evaluation_due(bool epoch_ended) const {
  const std::int64_t done = trainer_->num_completed(), per_epoch = task_->steps_per_epoch();
  const EvaluateOptions& when = options_.evaluate;
  const bool by_epoch =
      epoch_ended && when.every_epochs > 0 && (trainer_->finished() || (done / per_epoch) % when.every_epochs == 0);
  return by_epoch || (when.every_steps > 0 && (done % when.every_steps == 0 || trainer_->finished()));
}

/// A run that was stopped where an evaluation was due left it out: whoever asked may not wait. It is made up for here.
void Session::make_up_evaluation() {
  if (first_step_ == 0 || !evaluation_due(first_step_ % task_->steps_per_epoch() == 0)) return;
  const auto known = history_.metrics.find("eval_loss");
  const bool is_known =
      known != history_.metrics.end() && !known->second.steps.empty() && known->second.steps.back() == first_step_;
  if (is_known) return;
  evaluate_now();
  if (best_step_ != first_step_) return;
  last_saved_ = -1;  // again, this time as the best
  save_checkpoint();
}

void Session::after_step(bool epoch_ended) {
  const std::int64_t done = trainer_->num_completed();
  if (evaluation_due(epoch_ended)) evaluate_now();
  const std::optional<StepResult>& last = trainer_->last_result();
  const std::int64_t every = options_.run.checkpoint_every;
  const bool is_due = every > 0 && done % every == 0, is_best = best_step_ == done;
  if (is_due || is_best || (last && last->requests.checkpoint)) save_checkpoint();
}

void Session::evaluate_now() {
  if (!task_->has_test_set() || last_evaluated_ == trainer_->num_completed()) return;
  const TimePoint start = SteadyClock::now();
  const std::optional<Evaluation> found = trainer_->evaluate();
  last_evaluated_ = trainer_->num_completed();
  if (options_.run.keep_best && last_evaluated_ > 0 && checkpoints_.would_be_best(found->score)) {
    best_score_ = found->score;
    best_step_ = last_evaluated_;
  }
  const double seconds = seconds_since(start);
  recorder_.add_epoch_seconds("evaluate", epoch(), seconds);
  stalled_s_ += seconds;
  if (feed_) feed_->flush();
  progress_.finish_line();
  if (progress_.quiet()) return;
  const std::string when = last_evaluated_ == 0
                               ? std::string("before step 1")
                               : fmt::format("step {}, epoch {}/{}", last_evaluated_, epoch() + 1, num_epochs_);
  log_info(fmt::format("{:<10}{}: {}, {})", "test", when, task_->describe(*found), human_duration(seconds)));
}

void Session::open_feed() {
  if (!communicator_.is_root()) return;
  const RunSettings& run = options_.run;
  feed_ = std::make_unique<MetricFeed>([this](const std::string& warning) {
    progress_.finish_line();
    log_warning(warning);
  });
  if (run.tensorboard)
    feed_->open([&] { return std::make_unique<EventFile>(run.output + "/tensorboard", first_step_, deck_yaml_); });
  if (run.json_lines)
    feed_->open([&] { return std::make_unique<JsonLines>(run.output + "/metrics.jsonl", first_step_); });
  recorder_.feed_metrics_to(*feed_, first_step_);
}

void Session::report_step() {
  const std::vector<StepTimes>& steps = recorder_.steps();
  if (steps.empty() || !trainer_->last_result()) return;
  const std::size_t recent = std::min<std::size_t>(steps.size(), 20);
  ProgressState state;
  for (std::size_t i = steps.size() - recent; i < steps.size(); ++i) {
    state.step_s += steps[i].step / static_cast<double>(recent);
    state.data_share += steps[i].phases[static_cast<std::size_t>(Phase::data_wait)];
    state.reduce_share += steps[i].phases[static_cast<std::size_t>(Phase::reduce_wait)];
  }
  const double total = std::max(state.step_s * static_cast<double>(recent), 1e-12);
  state.data_share /= total;
  state.reduce_share /= total;
  state.step = trainer_->num_completed();
  std::int64_t work = 0;
  for (std::size_t i = 0; i < recent; ++i)
    work += task_->work_in(state.step - 1 - static_cast<std::int64_t>(i));
  state.rate = static_cast<double>(work) / total;
  state.unit = task_->unit().abbreviation;
  state.num_steps = num_steps_;
  state.epoch = epoch();
  state.num_epochs = num_epochs_;
  state.loss = trainer_->last_result()->loss;
  state.learning_rate = trainer_->last_result()->learning_rate;
  progress_.step(state);
  if (!feed_ || (state.step % options_.run.log_every != 0 && !trainer_->finished())) return;
  feed_->add(fmt::format("{}_per_s", task_->unit().name), trainer_->last_result()->step, state.rate);
  feed_->add("step_s", trainer_->last_result()->step, state.step_s);
  feed_->flush();
}

}  // namespace multicard
