#pragma once
/// \file Where the time of each step goes.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <c10/core/Device.h>

#include "base/Clock.hpp"
#include "base/Measures.hpp"
#include "device/StepObserver.hpp"

namespace multicard {

/// Points in time, on the host or on the compute stream of a GPU. Internal to StepClock.
class TimeMarks {
 public:
  using Mark = std::int64_t;
  virtual ~TimeMarks() = default;
  virtual Mark set() = 0;                             ///< now
  virtual bool reached(Mark mark) = 0;                ///< whether the device has reached it
  virtual void wait_for(Mark mark) = 0;               ///< blocks until it has
  virtual double seconds(Mark from, Mark until) = 0;  ///< both reached
  virtual void release(Mark mark) = 0;                ///< will not be asked for again
};

/// One step as the clock saw it.
struct MeasuredStep : StepTimes {
  /// Seconds that the host spent in Phase::data_wait, where the phases are of another clock than the host's: a GPU that
  /// still computes earlier steps hides them.
  std::optional<double> host_data_wait;
};

/// Measures steps and the phases that partition them. A step lasts from the end of the one before to its own
/// end_step(); the first starts at begin_step(). The time until the next call of enter() belongs to the phase entered;
/// what is in no phase is `other`. On a GPU the marks are events on the current stream, so that a phase is the time the
/// GPU spent; nothing waits for the GPU inside the loop: steps come out of take_finished() once the GPU has passed
/// them.
///
/// Phases are entered by the thread that calls begin_step(). A CollectiveWait in it, or in the thread that autograd
/// computes a GPU's backward in meanwhile, takes its time out of the phase that is open.
class StepClock {
 public:
  explicit StepClock(at::Device device);
  /// A clock of a device, with these marks.
  explicit StepClock(std::unique_ptr<TimeMarks> device_marks);
  ~StepClock();
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;

  /// "host" or "device"
  const char* name() const { return kind_ == Kind::device ? "device" : "host"; }

  /// From now on `observer`, which must outlive the clock, is told what steps do. To be called outside steps.
  void observe(StepObserver& observer) { observers_.push_back(&observer); }

  /// Opens a step in phase `other`, unless one is open because the step before has ended.
  void begin_step();
  void enter(Phase phase);
  /// Closes the step; the next one starts here.
  void end_step();

  /// The time from pause() to resume() is in no step (evaluation, checkpoints); the phase stays what it was.
  void pause();
  void resume();

  /// Steps that are measured completely, in order; each is handed out once.
  std::vector<MeasuredStep> take_finished();
  /// The same after waiting for the device: at the end of a run.
  std::vector<MeasuredStep> take_all();

 private:
  struct Interval {
    Phase phase;
    TimeMarks::Mark from, until;
  };
  struct Step {
    std::vector<Interval> intervals;
    std::vector<TimeMarks::Mark> marks;  ///< to release
    double host_data_wait_s = 0;
  };

  TimeMarks::Mark mark();
  void close_interval(TimeMarks::Mark now);
  void open_interval(TimeMarks::Mark now);
  void set_phase(Phase phase);
  template <class Call>
  void tell(Call&& call) const {
    for (StepObserver* observer : observers_)
      call(*observer);
  }
  MeasuredStep measure(const Step& step);
  friend class CollectiveWait;
  /// Whether a wait that this thread begins now belongs to reduce_wait and not to the phase that is open.
  bool counts_wait() const;
  /// Changes the phase; observers, who follow the thread that trains, are told of what it does alone.
  void change(Phase phase);

  enum class Kind { host, device };
  Kind kind_;
  std::unique_ptr<TimeMarks> marks_;
  std::vector<StepObserver*> observers_;
  enum class State { idle, running, paused } state_ = State::idle;
  Phase phase_ = Phase::other;
  TimeMarks::Mark since_ = 0;
  TimePoint host_since_;
  Step current_;
  std::deque<Step> ended_;
  std::thread::id thread_;  ///< that begins steps
};

/// While it exists, the thread waits for a collective: in forward, backward and update, whose time it would be else,
/// the step is in Phase::reduce_wait. Does nothing in other phases, where no step is open, and in threads that do not
/// train.
class CollectiveWait {
 public:
  CollectiveWait();
  ~CollectiveWait();
  CollectiveWait(const CollectiveWait&) = delete;
  CollectiveWait& operator=(const CollectiveWait&) = delete;

 private:
  StepClock* clock_;  ///< null: nothing was changed
  Phase phase_ = Phase::other;
};

/// Events on the current CUDA stream. Throws EnvironmentError in a build without CUDA.
std::unique_ptr<TimeMarks> make_device_marks(at::Device device);

}  // namespace multicard
