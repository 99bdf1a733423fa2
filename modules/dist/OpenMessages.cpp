#include "dist/OpenMessages.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/Clock.hpp"
#include "comm/Native.hpp"

namespace multicard {

namespace {

/// Between two looks. A thread that waits by looking all the time would take a core from those that compute; one that
/// sleeps for less than socket buffers last costs no bandwidth.
void rest(TimePoint last) {
  constexpr double kSpin = 50e-6;
  if (seconds_since(last) > kSpin) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

}  // namespace

struct OpenMessages::Requests {
  MPI_Request* next() { return &all.emplace_back(MPI_REQUEST_NULL); }

  std::vector<MPI_Request> all;
  std::vector<int> done;
};

OpenMessages::OpenMessages(const Communicator& communicator)
    : communicator_(communicator), requests_(std::make_unique<Requests>()) {}

OpenMessages::~OpenMessages() = default;

void OpenMessages::send(int rank, int tag, const std::byte* from, std::size_t bytes) {
  call_mpi(MpiFunction::isend, bytes, [&] {
    return MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, rank, tag, native(communicator_), requests_->next());
  });
  ++num_open_;
}

void OpenMessages::receive(int rank, int tag, std::byte* to, std::size_t bytes) {
  call_mpi(MpiFunction::irecv, bytes, [&] {
    return MPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, rank, tag, native(communicator_), requests_->next());
  });
  ++num_open_;
}

void OpenMessages::wait(const std::function<void(std::size_t)>& done) {
  TimePoint last = SteadyClock::now();
  while (num_open_ > 0)
    if (progress(done))
      last = SteadyClock::now();
    else
      rest(last);
}

bool OpenMessages::progress(const std::function<void(std::size_t)>& done) {
  Requests& open = *requests_;
  open.done.resize(open.all.size());
  int num_done = 0;
  call_mpi(MpiFunction::testsome, 0, [&] {
    return MPI_Testsome(static_cast<int>(open.all.size()), open.all.data(), &num_done, open.done.data(),
                        MPI_STATUSES_IGNORE);
  });
  for (int i = 0; i < num_done; ++i)
    done(static_cast<std::size_t>(open.done[static_cast<std::size_t>(i)]));
  num_open_ -= static_cast<std::size_t>(std::max(num_done, 0));
  return num_done > 0;
}

}  // namespace multicard
