// Rank 0 exchanges short messages with each other rank, on a message space of their own: kBeat every second, to rank 0
// with the numbers of BeatNumbers.hpp after it, kLeaving as the last. No rank waits for one: sends of so few bytes
// complete whether or not they are read. The first limit counts from the start of the exchange, since all ranks start
// it together.
#include "comm/Heartbeat.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "base/AwakeClock.hpp"
#include "base/Thread.hpp"
#include "comm/BeatNumbers.hpp"
#include "comm/LastingDuplicate.hpp"
#include "comm/Native.hpp"
#include "comm/Watchdog.hpp"

namespace multicard {

namespace {

constexpr int kTag = 1;
constexpr char kBeat = 1, kLeaving = 2;
constexpr double kBeatS = 1.0;
constexpr auto kLook = std::chrono::milliseconds(250);
/// Of a limit so short, a machine that is merely busy could miss all beats.
constexpr double kLeastLimitS = 4.0;

}  // namespace

/// A message with everything in it.
using BeatBytes = std::array<char, 1 + sizeof(BeatNumbers)>;

/// Those that this rank hears: rank 0 all others, these rank 0. Used by one thread at a time.
class Heartbeat::Peers {
 public:
  explicit Peers(const Communicator& all) : all_(all) {
    if (all.is_root())
      for (int rank = 1; rank < all.size(); ++rank)
        heard_s_[rank] = 0;
    else
      heard_s_[0] = 0;
    for (const auto& [rank, heard_s] : heard_s_)
      ranks_.push_back(rank);
    sends_.assign(ranks_.size(), MPI_REQUEST_NULL);
  }
  ~Peers() {
    for (MPI_Request& send : sends_)
      if (send != MPI_REQUEST_NULL) MPI_Request_free(&send);
  }
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// A rank whose last message has not yet left gets none.
  void send(const char& message) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      int is_free = 1;
      if (sends_[i] != MPI_REQUEST_NULL)
        call_mpi(MpiFunction::test, 0, [&] { return MPI_Test(&sends_[i], &is_free, MPI_STATUS_IGNORE); });
      if (is_free) start_send(message, i);
    }
  }

  void receive() {
    for (;;) {
      MPI_Status status;
      int waiting = 0;
      call_mpi(MpiFunction::iprobe, 0,
               [&] { return MPI_Iprobe(MPI_ANY_SOURCE, kTag, native(all_), &waiting, &status); });
      if (!waiting) return;
      BeatBytes bytes{};
      call_mpi(MpiFunction::recv, bytes.size(), [&] {
        return MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_CHAR, status.MPI_SOURCE, kTag, native(all_),
                        &status);
      });
      int count = 0;
      MPI_Get_count(&status, MPI_CHAR, &count);
      if (count == static_cast<int>(bytes.size())) note_numbers(status.MPI_SOURCE, bytes);
      // Messages of one rank arrive in the order sent, so no beat can follow its kLeaving.
      if (bytes[0] == kLeaving)
        heard_s_.erase(status.MPI_SOURCE);
      else if (const auto peer = heard_s_.find(status.MPI_SOURCE); peer != heard_s_.end())
        peer->second = clock_.now();
    }
  }

  void look() { clock_.look(); }
  double now() const { return clock_.now(); }

  /// A rank that has been silent for longer than this; -1: none.
  int silent_for(double limit_s) const {
    for (const auto& [rank, heard_s] : heard_s_)
      if (clock_.now() - heard_s > limit_s) return rank;
    return -1;
  }

 private:
  /// Memory for a message that stays when the object that sends it is gone; a heartbeat takes one for its life.
  static BeatBytes& lasting_message() {
    static std::mutex mutex;
    static std::deque<BeatBytes> messages;
    const std::lock_guard lock(mutex);
    return messages.emplace_back();
  }

  // MPI may read a message after the call, and even after this object: the constants of the program live long enough,
  // and so does the message with numbers, which has one receiver, rank 0. Each heartbeat has its own, because the
  // thread of an earlier one may still be sending.
  void start_send(const char& message, std::size_t to) {
    const bool has_numbers = message == kBeat && ranks_[to] == 0;
    const int count = has_numbers ? static_cast<int>(with_numbers_.size()) : 1;
    if (has_numbers) {
      const BeatNumbers numbers = own_beat_numbers();
      with_numbers_[0] = message;
      std::memcpy(&with_numbers_[1], numbers.data(), sizeof(numbers));
    }
    const char* const bytes = has_numbers ? with_numbers_.data() : &message;
    call_mpi(MpiFunction::isend, static_cast<std::size_t>(count),
             [&] { return MPI_Isend(bytes, count, MPI_CHAR, ranks_[to], kTag, native(all_), &sends_[to]); });
  }

  static void note_numbers(int rank, const BeatBytes& bytes) {
    BeatNumbers numbers;
    std::memcpy(numbers.data(), &bytes[1], sizeof(numbers));
    note_beat_numbers(rank, numbers);
  }

  const Communicator& all_;
  AwakeClock clock_;
  std::map<int, double> heard_s_;   ///< by rank: when something came last
  std::vector<int> ranks_;          ///< all that were heard at the start
  std::vector<MPI_Request> sends_;  ///< the last to each
  BeatBytes& with_numbers_ = lasting_message();
};

Heartbeat::Heartbeat(const Communicator& all, Expiry on_expiry)
    : communicator_(lasting_duplicate(all)), on_expiry_(std::move(on_expiry)) {
  if (communicator_.size() == 1) return;
  thread_ = start_thread("the thread that looks for lost ranks", "heartbeat", [this] {
    Peers peers(communicator_);
    exchange(peers);
    peers.send(kLeaving);
  });
}

Heartbeat::~Heartbeat() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Heartbeat::exchange(Peers& peers) {
  // The clock leaves out time in which this process was suspended: after it, the beats of the others are only late to
  // be read. The limit is read again at each look, since a deck may change it after the start.
  double next_s = 0;
  for (std::unique_lock lock(mutex_); !ending_; wake_.wait_for(lock, kLook)) {
    peers.look();
    if (peers.now() >= next_s) {
      peers.send(kBeat);
      next_s = peers.now() + kBeatS;
    }
    peers.receive();
    const double limit_s = std::max(communicator_.watchdog()->limit(), kLeastLimitS);
    const int silent = peers.silent_for(limit_s);
    if (silent < 0) continue;
    lock.unlock();
    on_expiry_(
        fmt::format("rank {} did not answer for {} s (its process was stopped, or its node hangs) Check that "
                    "node; run.timeout_s, without a deck MULTICARD_TIMEOUT_S, is the limit.",
                    silent, limit_s));
    return;
  }
}

}  // namespace multicard
