// libnccl.so.2: ranks are processes of one machine. Without asynchronous mode a collective blocks the host, which a
// GPU's does not.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "Fake.hpp"
#include "nccl/Rendezvous.hpp"

namespace {

using fake::kPiece;
using fake::Rendezvous;

/// The work on streams may outlive the handle.
using Shared = std::shared_ptr<Rendezvous>;

const Shared& rendezvous_of(ncclComm_t handle) {
  return *reinterpret_cast<Shared*>(handle);
}

struct Message {
  enum class Direction { send, receive } direction;
  char* at;
  std::size_t bytes;
  int peer;
  std::size_t done = 0;

  bool is_done() const { return done >= bytes; }
};

struct Group {
  int depth = 0;
  Shared rendezvous;
  cudaStream_t stream = nullptr;
  std::vector<Message> messages;
};

thread_local Group group;

bool pass_piece(Rendezvous& rendezvous, Message& message) {
  const bool is_sent = message.direction == Message::Direction::send;
  const int from = is_sent ? rendezvous.rank() : message.peer, to = is_sent ? message.peer : rendezvous.rank();
  fake::Mailbox& box = rendezvous.mailbox(from, to);
  if (box.is_full == (is_sent ? 1U : 0U)) return false;
  if (is_sent) box.bytes = std::min(kPiece, message.bytes - message.done);
  const std::size_t bytes = std::min<std::size_t>(box.bytes, message.bytes - message.done);
  char* const place = message.at + message.done;
  char* const letter = rendezvous.letter(from, to);
  std::memcpy(is_sent ? letter : place, is_sent ? place : letter, bytes);
  message.done += bytes;
  box.is_full = is_sent ? 1 : 0;
  return true;
}

/// Whether an earlier message of the same pair is under way: messages of a pair keep their order.
bool is_queued(const std::vector<Message>& messages, std::size_t index) {
  const Message& one = messages[index];
  return std::any_of(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(index), [&](const Message& m) {
    return !m.is_done() && m.direction == one.direction && m.peer == one.peer;
  });
}

void exchange(Rendezvous& rendezvous, std::vector<Message> messages) {
  const auto advance = [&] {
    bool has_moved = false;
    for (std::size_t i = 0; i < messages.size(); ++i)
      if (!messages[i].is_done() && !is_queued(messages, i))
        has_moved = pass_piece(rendezvous, messages[i]) || has_moved;
    return has_moved;
  };
  while (!std::all_of(messages.begin(), messages.end(), [](const Message& m) { return m.is_done(); }))
    if (!rendezvous.wait(advance)) return;
}

void end_group() {
  if (group.messages.empty()) return;
  fake::Counter& counter = fake::counter("nccl", "send and receive groups");
  std::uint64_t sent = 0;
  for (const Message& message : group.messages)
    if (message.direction == Message::Direction::send) sent += message.bytes;
  counter.add(sent);
  fake::note_order(counter.name, sent, group.messages.front().at);
  fake::tell_kernel(group.stream, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  fake::submit(group.stream, [rendezvous = std::move(group.rendezvous), messages = std::exchange(group.messages, {})] {
    exchange(*rendezvous, messages);
  });
}

ncclResult_t add_message(const Message& message, ncclComm_t handle, cudaStream_t stream) {
  group.rendezvous = rendezvous_of(handle);
  group.stream = stream;
  group.messages.push_back(message);
  if (group.depth == 0) end_group();
  return ncclSuccess;
}

/// FAKE_GPU_NCCL_OTHER=N: the Nth collective of FAKE_GPU_FAIL_RANK is another than that of the others.
const char* name_of_next(const char* call) {
  static const std::int64_t other = fake::environment("FAKE_GPU_NCCL_OTHER", 0);
  static const bool is_this_rank = fake::environment("FAKE_GPU_FAIL_RANK", 0) == fake::rank();
  static std::atomic<std::int64_t> num_calls{0};
  return ++num_calls == other && is_this_rank ? "another collective" : call;
}

/// Every rank shows its `bytes` of `from` (where it is not null) piece by piece; `take(offset, bytes)` uses the slots.
template <typename Take>
void show(Rendezvous& rendezvous, const void* from, std::size_t bytes, const Take& take) {
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    const std::size_t now = std::min(kPiece, bytes - at);
    if (from) std::memcpy(rendezvous.slot(rendezvous.rank()), static_cast<const char*>(from) + at, now);
    if (!rendezvous.barrier()) return;
    take(at, now);
    if (!rendezvous.barrier()) return;
  }
}

/// The kernel of "ncclAllReduce".
std::string kernel_of(const char* call) {
  return std::string("ncclDevKernel_") + (call + 4) + "_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
}

template <typename Body>
ncclResult_t collective(const char* call, const void* from, std::size_t bytes, ncclComm_t handle, cudaStream_t stream,
                        Body body) {
  if (fake::device_error() != 0) return ncclUnhandledCudaError;
  fake::counter("nccl", call).add(bytes);
  fake::note_order(call, bytes, from);
  fake::tell_kernel(stream, kernel_of(call));
  fake::submit(stream, [rendezvous = rendezvous_of(handle), name = name_of_next(call), bytes, body] {
    if (rendezvous->agree_on(name, bytes) && fake::is_made(bytes)) body(*rendezvous);
  });
  return ncclSuccess;
}

/// The sum of what the ranks show, in rank order.
void add_slots(Rendezvous& rendezvous, char* target, std::size_t bytes, ncclDataType_t type, ncclRedOp_t op) {
  std::memcpy(target, rendezvous.slot(0), bytes);
  for (int rank = 1; rank < rendezvous.size(); ++rank)
    fake::combine(target, rendezvous.slot(rank), bytes / fake::width_of(type), type, op);
}

}  // namespace

FAKE_API ncclResult_t ncclGetVersion(int* version) {
  *version = static_cast<int>(fake::environment("FAKE_GPU_NCCL_VERSION", NCCL_VERSION_CODE));
  return ncclSuccess;
}

FAKE_API const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess              ? "no error"
         : result == ncclUnhandledCudaError ? "unhandled cuda error"
                                            : "an error of the fake NCCL";
}

FAKE_API const char* ncclGetLastError(ncclComm_t) {
  return "no more is known";
}

FAKE_API ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::random_device random;
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "/fake_nccl_%d_%08x", getpid(), random());
  return ncclSuccess;
}

FAKE_API ncclResult_t ncclCommInitRankConfig(ncclComm_t* out, int size, ncclUniqueId id, int rank,
                                             ncclConfig_t* config) {
  FAKE_COUNT();
  if (size > fake::kMaxRanks) return ncclInvalidArgument;
  auto* const rendezvous = new Shared(std::make_shared<Rendezvous>(id.internal, rank, size));
  *out = reinterpret_cast<ncclComm_t>(rendezvous);
  if (!config || config->blocking != 0) return (*rendezvous)->wait_for_all() ? ncclSuccess : ncclSystemError;
  (*rendezvous)->state = ncclInProgress;
  std::thread([one = *rendezvous] { one->state = one->wait_for_all() ? ncclSuccess : ncclSystemError; }).detach();
  return ncclInProgress;
}

FAKE_API ncclResult_t ncclCommFinalize(ncclComm_t) {
  FAKE_COUNT();
  return ncclSuccess;
}

FAKE_API ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  FAKE_COUNT();
  delete &rendezvous_of(handle);
  return ncclSuccess;
}

FAKE_API ncclResult_t ncclCommAbort(ncclComm_t handle) {
  FAKE_COUNT();
  rendezvous_of(handle)->abort();
  return ncclSuccess;
}

FAKE_API ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* state) {
  *state = rendezvous_of(handle)->state;
  return ncclSuccess;
}

FAKE_API ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

FAKE_API ncclResult_t ncclGroupEnd() {
  if (--group.depth == 0) end_group();
  return ncclSuccess;
}

FAKE_API ncclResult_t ncclAllReduce(const void* from, void* to, size_t number, ncclDataType_t type, ncclRedOp_t op,
                                    ncclComm_t comm, cudaStream_t stream) {
  const std::size_t whole = number * fake::width_of(type);
  return collective(__func__, from, whole, comm, stream, [=](Rendezvous& rendezvous) {
    show(rendezvous, from, whole, [&](std::size_t at, std::size_t bytes) {
      add_slots(rendezvous, static_cast<char*>(to) + at, bytes, type, op);
    });
  });
}

FAKE_API ncclResult_t ncclReduce(const void* from, void* to, size_t number, ncclDataType_t type, ncclRedOp_t op,
                                 int root, ncclComm_t comm, cudaStream_t stream) {
  const std::size_t whole = number * fake::width_of(type);
  return collective(__func__, from, whole, comm, stream, [=](Rendezvous& rendezvous) {
    show(rendezvous, from, whole, [&](std::size_t at, std::size_t bytes) {
      if (rendezvous.rank() == root) add_slots(rendezvous, static_cast<char*>(to) + at, bytes, type, op);
    });
  });
}

FAKE_API ncclResult_t ncclBroadcast(const void* from, void* to, size_t number, ncclDataType_t type, int root,
                                    ncclComm_t comm, cudaStream_t stream) {
  const std::size_t whole = number * fake::width_of(type);
  return collective(__func__, from, whole, comm, stream, [=](Rendezvous& rendezvous) {
    show(rendezvous, rendezvous.rank() == root ? from : nullptr, whole, [&](std::size_t at, std::size_t bytes) {
      std::memcpy(static_cast<char*>(to) + at, rendezvous.slot(root), bytes);
    });
  });
}

FAKE_API ncclResult_t ncclAllGather(const void* from, void* to, size_t number, ncclDataType_t type, ncclComm_t comm,
                                    cudaStream_t stream) {
  const std::size_t whole = number * fake::width_of(type);
  return collective(__func__, from, whole, comm, stream, [=](Rendezvous& rendezvous) {
    show(rendezvous, from, whole, [&](std::size_t at, std::size_t bytes) {
      for (int rank = 0; rank < rendezvous.size(); ++rank)
        std::memcpy(static_cast<char*>(to) + static_cast<std::size_t>(rank) * whole + at, rendezvous.slot(rank), bytes);
    });
  });
}

FAKE_API ncclResult_t ncclReduceScatter(const void* from, void* to, size_t number, ncclDataType_t type, ncclRedOp_t op,
                                        ncclComm_t comm, cudaStream_t stream) {
  const std::size_t part = number * fake::width_of(type);
  return collective(__func__, from, part, comm, stream, [=](Rendezvous& rendezvous) {
    for (int owner = 0; owner < rendezvous.size(); ++owner)
      show(rendezvous, static_cast<const char*>(from) + static_cast<std::size_t>(owner) * part, part,
           [&](std::size_t at, std::size_t bytes) {
             if (rendezvous.rank() == owner) add_slots(rendezvous, static_cast<char*>(to) + at, bytes, type, op);
           });
  });
}

FAKE_API ncclResult_t ncclSend(const void* from, size_t number, ncclDataType_t type, int peer, ncclComm_t comm,
                               cudaStream_t stream) {
  char* const at = static_cast<char*>(const_cast<void*>(from));
  return add_message({Message::Direction::send, at, number * fake::width_of(type), peer}, comm, stream);
}

FAKE_API ncclResult_t ncclRecv(void* to, size_t number, ncclDataType_t type, int peer, ncclComm_t comm,
                               cudaStream_t stream) {
  char* const at = static_cast<char*>(to);
  return add_message({Message::Direction::receive, at, number * fake::width_of(type), peer}, comm, stream);
}
