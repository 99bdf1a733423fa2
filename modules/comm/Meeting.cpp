// A meeting is a barrier without blocking (MPI_Ibarrier) on a message space of its own: arrive() enters it, and that it
// is complete says that all have entered. Ranks see that at different times, each when it looks; none can enter the
// next barrier before it has seen the end of this one.
//
// A call is a message of the meeting's number to every other rank. Nobody waits for calls, so one may be read after its
// meeting, or before the one it is for: the largest number that was read tells. Sends of so few bytes complete whether
// or not they are read.
#include "comm/Meeting.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <mpi.h>

#include "base/Clock.hpp"
#include "comm/Native.hpp"

namespace multicard {

namespace {
constexpr int kCallTag = 1;
constexpr auto kPause = std::chrono::milliseconds(2);
}  // namespace

struct Meeting::Impl {
  explicit Impl(const Communicator& all) : communicator(all.duplicate()) {}

  Communicator communicator;
  std::int64_t number = 0;
  std::int64_t last_called = -1;  ///< the largest number among the calls of others
  bool has_called = false, has_arrived = false;
  MPI_Request barrier = MPI_REQUEST_NULL;
  std::int64_t call = 0;  ///< stays in place while it is sent
  std::vector<MPI_Request> sends;
};

Meeting::Meeting(const Communicator& all) : impl_(std::make_unique<Impl>(all)) {}

Meeting::~Meeting() {
  // A barrier that others have not entered cannot be taken back, and is left to MPI's end.
  for (MPI_Request& send : impl_->sends)
    if (send != MPI_REQUEST_NULL) MPI_Request_free(&send);
}

void Meeting::call() {
  if (impl_->has_called || impl_->communicator.is_null()) return;
  impl_->has_called = true;
  check_mpi(MPI_Waitall(static_cast<int>(impl_->sends.size()), impl_->sends.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
  impl_->sends.assign(static_cast<std::size_t>(impl_->communicator.size()), MPI_REQUEST_NULL);
  impl_->call = impl_->number;
  for (int rank = 0; rank < impl_->communicator.size(); ++rank)
    if (rank != impl_->communicator.rank())
      check_mpi(MPI_Isend(&impl_->call, 1, MPI_INT64_T, rank, kCallTag, native(impl_->communicator),
                          &impl_->sends[static_cast<std::size_t>(rank)]),
                "MPI_Isend");
}

bool Meeting::is_called() {
  if (impl_->communicator.is_null()) return false;
  for (int waiting = 1; waiting;) {
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kCallTag, native(impl_->communicator), &waiting, &status), "MPI_Iprobe");
    if (!waiting) break;
    std::int64_t number = 0;
    check_mpi(
        MPI_Recv(&number, 1, MPI_INT64_T, status.MPI_SOURCE, kCallTag, native(impl_->communicator), MPI_STATUS_IGNORE),
        "MPI_Recv");
    impl_->last_called = std::max(impl_->last_called, number);
  }
  return impl_->last_called >= impl_->number;
}

void Meeting::arrive() {
  if (impl_->has_arrived) return;
  impl_->has_arrived = true;
  if (!impl_->communicator.is_null())
    check_mpi(MPI_Ibarrier(native(impl_->communicator), &impl_->barrier), "MPI_Ibarrier");
}

bool Meeting::has_arrived() const {
  return impl_->has_arrived;
}

bool Meeting::wait(double seconds) {
  if (!impl_->has_arrived) throw std::logic_error("a meeting is waited for before arriving");
  const TimePoint start = SteadyClock::now();
  for (int done = impl_->communicator.is_null() ? 1 : 0;;) {
    if (!done) check_mpi(MPI_Test(&impl_->barrier, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done) break;
    if (seconds_since(start) >= seconds) return false;
    std::this_thread::sleep_for(kPause);
  }
  ++impl_->number;
  impl_->has_called = impl_->has_arrived = false;
  return true;
}

}  // namespace multicard
