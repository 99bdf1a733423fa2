#include "device/StepClock.hpp"

#include <atomic>
#include <stdexcept>
#include <utility>

namespace multicard {

namespace {

class HostMarks : public TimeMarks {
 public:
  Mark set() override { return SteadyClock::now().time_since_epoch().count(); }
  bool reached(Mark) override { return true; }
  void wait_for(Mark) override {}
  double seconds(Mark from, Mark until) override {
    return std::chrono::duration<double>(SteadyClock::duration(until - from)).count();
  }
  void release(Mark) override {}
};

/// Whose step is open in this process; a process trains one network at a time.
std::atomic<StepClock*> open_clock = nullptr;

}  // namespace

StepClock::StepClock(at::Device device)
    : kind_(device.is_cuda() ? Kind::device : Kind::host),
      marks_(device.is_cuda() ? make_device_marks(device) : std::make_unique<HostMarks>()) {}

StepClock::StepClock(std::unique_ptr<TimeMarks> device_marks) : kind_(Kind::device), marks_(std::move(device_marks)) {}

StepClock::~StepClock() {
  StepClock* self = this;
  open_clock.compare_exchange_strong(self, nullptr);
}

TimeMarks::Mark StepClock::mark() {
  const TimeMarks::Mark now = marks_->set();
  current_.marks.push_back(now);
  return now;
}

void StepClock::open_interval(TimeMarks::Mark now) {
  since_ = now;
  host_since_ = SteadyClock::now();
}

void StepClock::close_interval(TimeMarks::Mark now) {
  current_.intervals.push_back({phase_, since_, now});
  if (phase_ == Phase::data_wait) current_.host_data_wait_s += seconds_since(host_since_);
  open_interval(now);
}

void StepClock::set_phase(Phase phase) {
  phase_ = phase;
  tell([=](StepObserver& observer) { observer.enter(phase); });
}

void StepClock::begin_step() {
  if (state_ != State::idle) return;
  set_phase(Phase::other);
  open_interval(mark());
  state_ = State::running;
  thread_ = std::this_thread::get_id();
  open_clock = this;
}

void StepClock::enter(Phase phase) {
  if (state_ != State::running) throw std::logic_error("StepClock::enter outside a step");
  if (phase == phase_) return;
  change(phase);
}

void StepClock::change(Phase phase) {
  close_interval(mark());
  if (std::this_thread::get_id() == thread_)
    set_phase(phase);
  else
    phase_ = phase;
}

bool StepClock::counts_wait() const {
  if (state_ != State::running) return false;
  // Threads that read ahead, or communicate, wait as well. In backward of a GPU the one that trains waits for
  // autograd's, which alone may come here then.
  if (std::this_thread::get_id() != thread_ && !(kind_ == Kind::device && phase_ == Phase::backward)) return false;
  return phase_ == Phase::forward || phase_ == Phase::backward || phase_ == Phase::update;
}

CollectiveWait::CollectiveWait() : clock_(open_clock) {
  if (clock_ != nullptr && !clock_->counts_wait()) clock_ = nullptr;
  if (clock_ == nullptr) return;
  phase_ = clock_->phase_;
  clock_->change(Phase::reduce_wait);
}

CollectiveWait::~CollectiveWait() {
  if (clock_ == nullptr) return;
  try {
    clock_->change(phase_);
  } catch (const std::exception&) {
    // A mark on a GPU that has failed. What waited reports it, or the next mark.
  }
}

void StepClock::end_step() {
  if (state_ != State::running) throw std::logic_error("StepClock::end_step outside a step");
  // set(), not mark(): this mark belongs to the next step, which still needs it when this one is measured and released.
  close_interval(marks_->set());
  ended_.push_back(std::move(current_));
  current_ = {};
  current_.marks.push_back(since_);  // the end of one step is the start of the next, which gives it back
  tell([](StepObserver& observer) { observer.end_step(); });
  set_phase(Phase::other);
}

void StepClock::pause() {
  if (state_ != State::running) return;
  close_interval(mark());
  tell([](StepObserver& observer) { observer.pause(); });
  state_ = State::paused;
  open_clock = nullptr;
}

void StepClock::resume() {
  // A mark of its own: the time since pause() lies between two intervals, and so in no phase.
  if (state_ != State::paused) return;
  open_interval(mark());
  set_phase(phase_);
  state_ = State::running;
  open_clock = this;
}

MeasuredStep StepClock::measure(const Step& step) {
  MeasuredStep times;
  if (kind_ == Kind::device) times.host_data_wait = step.host_data_wait_s;
  for (const Interval& interval : step.intervals)
    times.phases[static_cast<std::size_t>(interval.phase)] += marks_->seconds(interval.from, interval.until);
  // The step is the sum of its phases, not a measurement of its own: they partition it exactly.
  for (const double seconds : times.phases)
    times.step += seconds;
  for (const TimeMarks::Mark old : step.marks)
    marks_->release(old);
  return times;
}

std::vector<MeasuredStep> StepClock::take_finished() {
  std::vector<MeasuredStep> finished;
  // Marks are reached in order, so the last one of a step stands for all of them.
  while (!ended_.empty() && marks_->reached(ended_.front().intervals.back().until)) {
    finished.push_back(measure(ended_.front()));
    ended_.pop_front();
  }
  return finished;
}

std::vector<MeasuredStep> StepClock::take_all() {
  if (!ended_.empty()) marks_->wait_for(ended_.back().intervals.back().until);
  return take_finished();
}

}  // namespace multicard
