#pragma once
/// \file Where the ranks of a fake NCCL communicator meet: shared memory of one machine.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include <nccl.h>

namespace fake {

constexpr int kMaxRanks = 16;
/// Longer messages are passed in pieces.
constexpr std::size_t kPiece = std::size_t{1} << 20;

/// A piece on its way from one rank to another.
struct Mailbox {
  std::atomic<std::uint32_t> is_full;
  std::uint64_t bytes;
};

class Rendezvous {
 public:
  /// Joins the communicator of that name. Collective, but does not wait for the others.
  Rendezvous(std::string name, int rank, int size);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Collective: waits for all ranks to have joined. \returns whether they did
  bool wait_for_all();
  /// Collective: all ranks must call the same; else it says so and hangs, as NCCL does. \returns false if it was ended
  bool agree_on(const char* call, std::size_t bytes);
  /// Collective. \returns false if waiting was ended
  bool barrier();
  /// Waits until `is_ready` is true. \returns false if it never was: the communicator was aborted, or no rank came
  template <typename Ready>
  bool wait(const Ready& is_ready) {
    for (Pause pause(*this); !is_ready();)
      if (!pause.take()) return false;
    return true;
  }

  char* slot(int rank) const;
  Mailbox& mailbox(int from, int to) const;
  char* letter(int from, int to) const;

  void abort();
  std::atomic<ncclResult_t> state{ncclSuccess};

 private:
  struct Header;

  class Pause {
   public:
    explicit Pause(Rendezvous& rendezvous);
    bool take();

   private:
    Rendezvous& rendezvous_;
    std::int64_t start_ns_;
    int num_taken_ = 0;
  };

  std::string name_;
  int rank_, size_;
  std::size_t bytes_ = 0;
  Header* header_ = nullptr;
};

/// Adds (or what `op` says) `number` values of `from` to those of `to`.
void combine(void* to, const void* from, std::size_t number, ncclDataType_t type, ncclRedOp_t op);
/// Bytes of a value.
std::size_t width_of(ncclDataType_t type);

}  // namespace fake
