#include "nccl/Rendezvous.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "Fake.hpp"

namespace fake {

struct Rendezvous::Header {
  std::atomic<std::uint32_t> joined, arrived, generation, is_aborted;
  char calls[kMaxRanks][64];
  Mailbox mail[kMaxRanks][kMaxRanks];
};

namespace {

constexpr std::size_t kHeaderBytes = 65536;

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace

Rendezvous::Pause::Pause(Rendezvous& rendezvous) : rendezvous_(rendezvous), start_ns_(now_ns()) {}

bool Rendezvous::Pause::take() {
  static const std::int64_t limit_s = environment("FAKE_GPU_NCCL_LIMIT_S", 60);
  if (rendezvous_.header_->is_aborted) {
    rendezvous_.state = ncclRemoteError;
    return false;
  }
  if (++num_taken_ < 200) return true;
  std::this_thread::yield();
  if (num_taken_ % 1024 != 0 || now_ns() - start_ns_ < limit_s * 1000000000) return true;
  std::fprintf(stderr, "fake NCCL: rank %d of %d waited too long\n", rendezvous_.rank_, rendezvous_.size_);
  rendezvous_.state = ncclSystemError;
  return false;
}

Rendezvous::Rendezvous(std::string name, int rank, int size) : name_(std::move(name)), rank_(rank), size_(size) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  const auto n = static_cast<std::size_t>(size);
  bytes_ = kHeaderBytes + (n + n * n) * kPiece;
  const int file = shm_open(name_.c_str(), O_CREAT | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) throw std::runtime_error("no shared memory");
  void* const at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) throw std::runtime_error("no shared memory");
  header_ = static_cast<Header*>(at);  // the system gives zeros
  header_->joined.fetch_add(1);
}

Rendezvous::~Rendezvous() {
  munmap(header_, bytes_);
}

bool Rendezvous::wait_for_all() {
  const bool is_complete = wait([&] { return header_->joined >= static_cast<std::uint32_t>(size_); });
  if (rank_ == 0) shm_unlink(name_.c_str());
  return is_complete && barrier();
}

bool Rendezvous::barrier() {
  const std::uint32_t generation = header_->generation;
  if (header_->arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(size_)) {
    header_->arrived = 0;
    header_->generation = generation + 1;
    return true;
  }
  return wait([&] { return header_->generation != generation; });
}

bool Rendezvous::agree_on(const char* call, std::size_t bytes) {
  std::snprintf(header_->calls[rank_], sizeof header_->calls[rank_], "%s of %zu bytes", call, bytes);
  if (!barrier()) return false;
  for (int other = 0; other < size_; ++other) {
    if (std::strcmp(header_->calls[other], header_->calls[rank_]) == 0) continue;
    std::fprintf(stderr, "fake NCCL: rank %d calls %s, rank %d %s\n", rank_, header_->calls[rank_], other,
                 header_->calls[other]);
    return wait([] { return false; });
  }
  return barrier();
}

char* Rendezvous::slot(int rank) const {
  return reinterpret_cast<char*>(header_) + kHeaderBytes + static_cast<std::size_t>(rank) * kPiece;
}

Mailbox& Rendezvous::mailbox(int from, int to) const {
  return header_->mail[from][to];
}

char* Rendezvous::letter(int from, int to) const {
  return slot(size_ + from * size_ + to);
}

void Rendezvous::abort() {
  header_->is_aborted = 1;
}

}  // namespace fake
