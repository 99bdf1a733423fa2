#include "comm/Communicator.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "comm/CommunicatorImpl.hpp"
#include "comm/Native.hpp"
#include "comm/Watchdog.hpp"

namespace multicard {

namespace {

MPI_Datatype mpi_type(Datatype type) {
  switch (type) {
    case Datatype::byte:
      return MPI_BYTE;
    case Datatype::int32:
      return MPI_INT32_T;
    case Datatype::int64:
      return MPI_INT64_T;
    case Datatype::uint64:
      return MPI_UINT64_T;
    case Datatype::float32:
      return MPI_FLOAT;
    case Datatype::float64:
      return MPI_DOUBLE;
  }
  return MPI_DATATYPE_NULL;
}

std::size_t size_of(Datatype type) {
  switch (type) {
    case Datatype::byte:
      return 1;
    case Datatype::int32:
    case Datatype::float32:
      return 4;
    default:
      return 8;
  }
}

MPI_Op mpi_op(ReduceOp op) {
  return op == ReduceOp::sum ? MPI_SUM : op == ReduceOp::min ? MPI_MIN : MPI_MAX;
}

/// Calls `body(first, count)` for pieces that stay under the largest transfer.
template <class Body>
void in_pieces(std::size_t count, std::size_t element_bytes, Body&& body) {
  const std::size_t step = kMaxTransferBytes / element_bytes;
  for (std::size_t first = 0; first < count; first += step)
    body(first, static_cast<int>(std::min(step, count - first)));
}

Communicator wrap(MPI_Comm handle, const std::shared_ptr<Watchdog>& watchdog) {
  auto impl = std::make_shared<Communicator::Impl>();
  impl->handle = handle;
  impl->owned = true;
  impl->watchdog = watchdog;
  // By MPI's default the first failure ends the job inside the call, before check_mpi can say which call it was.
  check_mpi(MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(handle, &impl->rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(handle, &impl->size), "MPI_Comm_size");
  return Communicator(std::move(impl));
}

}  // namespace

Communicator::Impl::~Impl() {
  // Freeing is collective on paper, but local in practice (MPI 3.1, 6.4.3), so groups may end in any order and while an
  // exception passes. Those that outlive MPI_Finalize are left alone: no call is allowed any more.
  int finalized = 0;
  if (owned && handle != MPI_COMM_NULL && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
    MPI_Comm_free(&handle);
}

Communicator Communicator::null() {
  return Communicator(std::make_shared<Impl>());
}

int Communicator::rank() const {
  return impl_->rank;
}
int Communicator::size() const {
  return impl_->size;
}
bool Communicator::is_null() const {
  return impl_->handle == MPI_COMM_NULL;
}
Watchdog* Communicator::watchdog() const {
  return impl_->watchdog.get();
}

Communicator Communicator::split(int color, int key, Watched watched) const {
  if (is_null()) return *this;
  const Watchdog::Guard guard(watchdog(), "splitting a communicator");
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(impl_->handle, color, key, &part), "MPI_Comm_split");
  return wrap(part, watched == Watched::together ? impl_->watchdog : impl_->watchdog->apart());
}

Communicator Communicator::split_by_node() const {
  if (is_null()) return *this;
  const Watchdog::Guard guard(watchdog(), "splitting a communicator by node");
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(impl_->handle, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &part),
            "MPI_Comm_split_type");
  return wrap(part, impl_->watchdog);
}

Communicator Communicator::duplicate() const {
  if (is_null()) return *this;
  const Watchdog::Guard guard(watchdog(), "duplicating a communicator");
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(impl_->handle, &copy), "MPI_Comm_dup");
  return wrap(copy, impl_->watchdog);
}

void Communicator::barrier() const {
  if (is_null()) return;
  const Watchdog::Guard guard(watchdog(), "barrier");
  call_mpi(MpiFunction::barrier, 0, [&] { return MPI_Barrier(impl_->handle); });
}

void Communicator::idle_barrier() const {
  if (is_null()) return;
  MPI_Request request = MPI_REQUEST_NULL;
  call_mpi(MpiFunction::ibarrier, 0, [&] { return MPI_Ibarrier(impl_->handle, &request); });
  for (int done = 0; !done;) {
    call_mpi(MpiFunction::test, 0, [&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE); });
    if (!done) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void Communicator::broadcast_raw(void* data, std::size_t count, Datatype type, int root) const {
  if (is_null()) return;
  const Watchdog::Guard guard(watchdog(), "broadcast");
  in_pieces(count, size_of(type), [&](std::size_t first, int number) {
    call_mpi(MpiFunction::bcast, static_cast<std::size_t>(number) * size_of(type), [&] {
      return MPI_Bcast(static_cast<char*>(data) + first * size_of(type), number, mpi_type(type), root, impl_->handle);
    });
  });
}

std::string Communicator::broadcast(const std::string& text, int root) const {
  // The receivers must know the length before the bytes; an empty text is one broadcast, as pieces of nothing make no
  // call.
  std::uint64_t length = text.size();
  broadcast(std::span(&length, 1), root);
  std::string out = text;
  out.resize(length);
  broadcast(std::span(out.data(), out.size()), root);
  return out;
}

void Communicator::allreduce_raw(void* data, std::size_t count, Datatype type, ReduceOp op) const {
  if (is_null()) return;
  const Watchdog::Guard guard(watchdog(), "all-reduce");
  in_pieces(count, size_of(type), [&](std::size_t first, int number) {
    call_mpi(MpiFunction::allreduce, static_cast<std::size_t>(number) * size_of(type), [&] {
      return MPI_Allreduce(MPI_IN_PLACE, static_cast<char*>(data) + first * size_of(type), number, mpi_type(type),
                           mpi_op(op), impl_->handle);
    });
  });
}

void Communicator::allgather_raw(const void* mine, void* all, std::size_t count, Datatype type) const {
  if (is_null()) {
    if (count > 0) std::memcpy(all, mine, count * size_of(type));
    return;
  }
  // Not cut into pieces: the pieces of one rank would not follow each other in `all`. What is gathered is small.
  if (count * size_of(type) > kMaxTransferBytes)
    throw CommunicationError(fmt::format("an all-gather of {} bytes per rank is too large", count * size_of(type)));
  const Watchdog::Guard guard(watchdog(), "all-gather");
  const int number = static_cast<int>(count);
  call_mpi(MpiFunction::allgather, count * size_of(type),
           [&] { return MPI_Allgather(mine, number, mpi_type(type), all, number, mpi_type(type), impl_->handle); });
}

std::vector<std::string> Communicator::allgather(const std::string& mine) const {
  const auto lengths = allgather(static_cast<std::int64_t>(mine.size()));
  // Padded to the longest text, so that the same gathering of equal counts serves; texts are names and short records.
  const auto longest = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
  std::vector<char> padded(longest);
  std::copy(mine.begin(), mine.end(), padded.begin());
  const std::vector<char> all = allgather(std::span<const char>(padded));
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < lengths.size(); ++r)
    texts.emplace_back(all.data() + r * longest, static_cast<std::size_t>(lengths[r]));
  return texts;
}

std::vector<std::string> Communicator::gather(const std::string& mine, int root) const {
  if (is_null()) return {mine};
  const auto lengths = allgather(static_cast<std::int64_t>(mine.size()));
  const auto longest = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
  // In rounds, each of which brings a piece of every text that is left: counts of MPI are 32 bits.
  const std::size_t most = std::max<std::size_t>(1, kMaxTransferBytes / lengths.size());
  std::vector<std::string> texts(rank() == root ? lengths.size() : 0);
  const Watchdog::Guard guard(watchdog(), "gather");
  for (std::size_t begin = 0; begin < longest; begin += most) {
    std::vector<int> counts, places;
    std::size_t total = 0;
    for (const std::int64_t length : lengths) {
      const std::size_t end = std::min(begin + most, static_cast<std::size_t>(length));
      counts.push_back(static_cast<int>(end > begin ? end - begin : 0));
      places.push_back(static_cast<int>(total));
      total += static_cast<std::size_t>(counts.back());
    }
    std::vector<char> all(rank() == root ? total : 0);
    const int sent = counts[static_cast<std::size_t>(rank())];
    call_mpi(MpiFunction::gatherv, static_cast<std::size_t>(sent), [&] {
      return MPI_Gatherv(mine.data() + std::min(begin, mine.size()), sent, MPI_CHAR, all.data(), counts.data(),
                         places.data(), MPI_CHAR, root, impl_->handle);
    });
    for (std::size_t r = 0; r < texts.size(); ++r)
      texts[r].append(all.data() + places[r], static_cast<std::size_t>(counts[r]));
  }
  return texts;
}

std::string Communicator::shift(const std::string& mine, int distance) const {
  if (is_null()) return {};
  const Watchdog::Guard guard(watchdog(), "shift");
  const auto neighbour = [&](int number) { return number < 0 || number >= size() ? MPI_PROC_NULL : number; };
  const int to = neighbour(rank() + distance), from = neighbour(rank() - distance);
  const std::uint64_t length = mine.size();
  std::uint64_t other_length = 0;  // stays so where nothing is received
  constexpr int kTag = 0;
  call_mpi(MpiFunction::sendrecv, sizeof length, [&] {
    return MPI_Sendrecv(&length, 1, MPI_UINT64_T, to, kTag, &other_length, 1, MPI_UINT64_T, from, kTag, impl_->handle,
                        MPI_STATUS_IGNORE);
  });
  std::string other(other_length, '\0');
  // Both sides of a pair know how many pieces their text has; a rank that has fewer to send or receive sends none.
  for (std::size_t begin = 0; begin < std::max(mine.size(), other.size()); begin += kMaxTransferBytes) {
    const auto piece = [&](const std::string& text) {
      return static_cast<int>(std::min(kMaxTransferBytes, text.size() - std::min(begin, text.size())));
    };
    const int sent = piece(mine), received = piece(other);
    call_mpi(MpiFunction::sendrecv, static_cast<std::size_t>(sent), [&] {
      return MPI_Sendrecv(mine.data() + std::min(begin, mine.size()), sent, MPI_CHAR, sent > 0 ? to : MPI_PROC_NULL,
                          kTag, other.data() + std::min(begin, other.size()), received, MPI_CHAR,
                          received > 0 ? from : MPI_PROC_NULL, kTag, impl_->handle, MPI_STATUS_IGNORE);
    });
  }
  return other;
}

MPI_Comm native(const Communicator& communicator) {
  // The libraries below (MPI-IO, parallel HDF5) want a communicator also for one rank alone.
  if (!communicator.is_null()) return communicator.impl().handle;
  int initialized = 0;
  MPI_Initialized(&initialized);
  return initialized ? MPI_COMM_SELF : MPI_COMM_NULL;
}

std::string mpi_error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) throw CommunicationError(fmt::format("{} failed", call), mpi_error_text(code));
}

}  // namespace multicard
