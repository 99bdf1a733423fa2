#include "run/MovableRun.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/Clock.hpp"
#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "device/DeviceError.hpp"
#include "device/Memory.hpp"
#include "train/MovedPieces.hpp"

namespace multicard {

namespace {

/// Runs `body`, in which the ranks of `group` (null where this rank is not among them) take part; an error that they
/// find together becomes one of all ranks. What a rank alone in its group finds, the whole group finds. The other ranks
/// wait for as long as `body` takes.
template <class Body>
void agreed_with_others(const Communicator& all, const Communicator* group, const Body& body) {
  std::optional<Error> failure;
  try {
    if (group) body();
  } catch (const std::exception& found) {
    const Error error = any_error(found);
    const bool is_of_group = error.scope() == Scope::all_ranks || group->size() == 1;
    if (!is_of_group || error.code() == ExitCode::defect) throw;
    failure = error;
  }
  all.idle_barrier();
  agree_on(all, failure);
}

}  // namespace

// Order: (1) all ranks agree whether there is a run and who its root is; (2) its ranks alone collect, the others wait
// without a limit; (3) the state is broadcast to all ranks; (4) only then is the old run destroyed. A failure in (1) to
// (3) leaves the run where it is, able to train.
void MovableRun::take_state() {
  all_.idle_barrier();  // ranks without the run wait here while the others train
  const int root = all_.allreduce(run_ && run_->is_root() ? all_.rank() : -1, ReduceOp::max);
  if (root < 0) return;
  const bool has_ended = run_ && run_->status() != RunStatus::running;
  if (all_.allreduce(has_ended ? 1 : 0, ReduceOp::max) == 1)  // which the ranks of the run alone would find
    throw std::logic_error("a run that has ended cannot be moved");
  const TimePoint start = SteadyClock::now();
  TrainingState state;
  agreed_with_others(all_, run_ ? &*group_ : nullptr, [&] { state = run_->collect(); });
  times_.collect = seconds_since(start);
  if (run_) scan_ = run_->scan();
  all_.barrier();
  const TimePoint sending = SteadyClock::now();
  broadcast(state, all_, root);  // while the run is still there: another rank may have too little memory for it
  share(scan_, all_, root);
  times_.broadcast = seconds_since(sending);
  run_.reset();
  group_.reset();
  state_ = std::move(state);
}

// The underlying object is compared, not the ranks: NCCL is bound to one communicator, and another one over the same
// ranks would not match it.
MovableRun::KeptCollectives* MovableRun::known_collectives(const Communicator& communicator) {
  const auto is_same = [&](const Communicator& other) {
    if (communicator.is_null() || other.is_null()) return communicator.is_null() && other.is_null();
    return &communicator.impl() == &other.impl();
  };
  const auto known = std::ranges::find_if(collectives_, is_same, &KeptCollectives::communicator);
  return known == collectives_.end() ? nullptr : &*known;
}

/// Those that neither this move nor the one before has used. All ranks of a communicator have made the same moves on
/// it, so that they agree.
void MovableRun::release_old_collectives() {
  for (KeptCollectives& kept : collectives_)
    if (num_moves_ - kept.last_move > 1) kept.collectives.reset();
  std::erase_if(collectives_, [](const KeptCollectives& kept) { return !kept.collectives; });
}

void MovableRun::build(const Communicator& next) {
  const KeptCollectives* known = known_collectives(next);
  TrainingParts reused{std::move(model_), known ? known->collectives : nullptr, scan_, !scan_.is_empty()};
  run_ = state_ ? std::make_unique<TaskRun>(options_, deck_, next, task_options_, *state_, std::move(reused))
                : std::make_unique<TaskRun>(options_, deck_, next, task_options_, std::move(reused));
  group_ = next;
  model_ = run_->model();
  device_ = run_->task().model()->parameters().front().tensor.device();
  if (KeptCollectives* kept = known_collectives(next))
    kept->last_move = num_moves_;
  else
    collectives_.push_back({next, run_->collectives(), num_moves_});
}

void MovableRun::exchange_pieces() {
  try {
    multicard::exchange_pieces(state_->pieces, run_ ? run_->wanted_pieces(*state_) : std::vector<TensorPiece>{}, all_);
  } catch (...) {  // it is not whole
    run_.reset();
    group_.reset();
    throw;
  }
  if (run_) run_->pieces_have_arrived();
}

RunResult MovableRun::finish(StopMonitor* stop) {
  const std::unique_ptr<TaskRun> run = std::move(run_);
  return run->finish(stop);
}

// Collectives are released in the order in which they were made, before the vector is cleared: the order is the same on
// all of their ranks.
void MovableRun::abandon() {
  run_.reset();
  group_.reset();
  state_.reset();
  for (KeptCollectives& kept : collectives_)
    kept.collectives.reset();
  collectives_.clear();
  release_model();
}

void MovableRun::release_model() {
  model_.reset();
  if (device_) release_cached_device_memory(*device_);
  device_.reset();
}

void MovableRun::move_to(const std::optional<Communicator>& next) {
  times_ = {};
  // The state is sent to all, as large as the run has it.
  const Watchdog::LongerTimeout longer_timeout(all_.watchdog(), options_.run.timeout_s);
  take_state();
  ++num_moves_;
  const TimePoint start = SteadyClock::now();
  // A rank that leaves gives its memory back before others build, which may share its GPU.
  if (!next) release_model();
  agreed_with_others(all_, next ? &*next : nullptr, [&] { build(*next); });
  // Kept where no rank has the run: the state is then the run, and waits for the next move.
  if (all_.allreduce(next ? 1 : 0, ReduceOp::max) > 0) {
    if (state_) exchange_pieces();
    state_.reset();
  }
  release_old_collectives();
  times_.build = seconds_since(start);
}

}  // namespace multicard
