// Each barrier is a non-blocking one (MPI_Ibarrier) on a message space of its own: arrive() enters it, and that it
// is complete says that all have entered. Ranks see that at different times, each when it looks; none can enter the
// next barrier before it has seen the end of this one.
//
// A request is a message of the barrier's number to every other rank. No rank waits for requests, so one may be read
// after its barrier, or before the one it is for: the largest number that was read counts. Sends of so few bytes
// complete whether or not they are read. Since some never are, the communicator is not freed.
#include "comm/AsyncBarrier.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <mpi.h>

#include "base/Clock.hpp"
#include "comm/LastingDuplicate.hpp"
#include "comm/Native.hpp"

namespace multicard {

namespace {
constexpr int kRequestTag = 1;
constexpr auto kPause = std::chrono::milliseconds(2);
}  // namespace

struct AsyncBarrier::Impl {
  explicit Impl(const Communicator& all) : communicator(lasting_duplicate(all)) {}

  const Communicator& communicator;
  std::int64_t number = 0;
  std::int64_t last_requested = -1;  ///< the largest number among the requests of others
  bool has_requested = false, has_arrived = false;
  MPI_Request barrier = MPI_REQUEST_NULL;
  std::int64_t requested = 0;  ///< stays in place while it is sent
  std::vector<MPI_Request> sends;
};

AsyncBarrier::AsyncBarrier(const Communicator& all) : impl_(std::make_unique<Impl>(all)) {}

AsyncBarrier::~AsyncBarrier() {
  // A barrier that others have not entered cannot be taken back, and is left to MPI's end.
  for (MPI_Request& send : impl_->sends)
    if (send != MPI_REQUEST_NULL) MPI_Request_free(&send);
}

void AsyncBarrier::request() {
  if (impl_->has_requested) return;
  impl_->has_requested = true;
  if (impl_->communicator.is_null()) return;
  // The sends of an earlier barrier still use `requested`, which MPI reads until they are complete.
  call_mpi(MpiFunction::waitall, 0, [&] {
    return MPI_Waitall(static_cast<int>(impl_->sends.size()), impl_->sends.data(), MPI_STATUSES_IGNORE);
  });
  impl_->sends.assign(static_cast<std::size_t>(impl_->communicator.size()), MPI_REQUEST_NULL);
  impl_->requested = impl_->number;
  for (int rank = 0; rank < impl_->communicator.size(); ++rank)
    if (rank != impl_->communicator.rank())
      call_mpi(MpiFunction::isend, sizeof impl_->requested, [&] {
        return MPI_Isend(&impl_->requested, 1, MPI_INT64_T, rank, kRequestTag, native(impl_->communicator),
                         &impl_->sends[static_cast<std::size_t>(rank)]);
      });
}

bool AsyncBarrier::has_requested() const {
  return impl_->has_requested;
}

bool AsyncBarrier::is_requested() {
  if (impl_->communicator.is_null()) return false;
  // Probe and receive are two calls, which is safe because one thread of the rank alone reads this message space. All
  // messages are taken, not the first only: several ranks may request, for this barrier or for one that is over.
  for (int waiting = 1; waiting;) {
    MPI_Status status;
    call_mpi(MpiFunction::iprobe, 0,
             [&] { return MPI_Iprobe(MPI_ANY_SOURCE, kRequestTag, native(impl_->communicator), &waiting, &status); });
    if (!waiting) break;
    std::int64_t number = 0;
    call_mpi(MpiFunction::recv, sizeof number, [&] {
      return MPI_Recv(&number, 1, MPI_INT64_T, status.MPI_SOURCE, kRequestTag, native(impl_->communicator),
                      MPI_STATUS_IGNORE);
    });
    impl_->last_requested = std::max(impl_->last_requested, number);
  }
  return impl_->last_requested >= impl_->number;
}

void AsyncBarrier::arrive() {
  if (impl_->has_arrived) return;
  impl_->has_arrived = true;
  if (!impl_->communicator.is_null())
    call_mpi(MpiFunction::ibarrier, 0, [&] { return MPI_Ibarrier(native(impl_->communicator), &impl_->barrier); });
}

bool AsyncBarrier::has_arrived() const {
  return impl_->has_arrived;
}

bool AsyncBarrier::wait(double seconds) {
  if (!impl_->has_arrived) throw std::logic_error("a barrier is waited for before arriving");
  const TimePoint start = SteadyClock::now();
  for (int done = impl_->communicator.is_null() ? 1 : 0;;) {
    // Testing is also what moves the barrier: this MPI works on a non-blocking operation only inside calls.
    if (!done) call_mpi(MpiFunction::test, 0, [&] { return MPI_Test(&impl_->barrier, &done, MPI_STATUS_IGNORE); });
    if (done) break;
    if (seconds_since(start) >= seconds) return false;
    std::this_thread::sleep_for(kPause);
  }
  ++impl_->number;
  impl_->has_requested = impl_->has_arrived = false;
  return true;
}

}  // namespace multicard
