#include "dist/MpiCollectives.hpp"

#include <algorithm>
#include <numeric>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "base/Clock.hpp"
#include "comm/Native.hpp"
#include "comm/Watchdog.hpp"
#include "dist/TensorChecks.hpp"

namespace multicard {

namespace {

std::int64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.nbytes());
}

std::byte* bytes_at(const at::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

/// One row as one MPI element, so that counts stay small.
class RowType {
 public:
  explicit RowType(std::int64_t bytes) {
    check_mpi(MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &handle_), "MPI_Type_contiguous");
    check_mpi(MPI_Type_commit(&handle_), "MPI_Type_commit");
  }
  ~RowType() { MPI_Type_free(&handle_); }
  RowType(const RowType&) = delete;
  RowType& operator=(const RowType&) = delete;
  MPI_Datatype handle() const { return handle_; }

 private:
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

struct Blocks {
  std::vector<int> counts, starts;
};

/// Of each rank's block of rows, the rows [first, first + most).
Blocks cut(const std::vector<std::int64_t>& rows, std::int64_t first, std::int64_t most) {
  Blocks blocks;
  std::int64_t start = 0;
  for (const std::int64_t num_rows : rows) {
    const std::int64_t skipped = std::min(first, num_rows);
    blocks.counts.push_back(static_cast<int>(std::min(most, num_rows - skipped)));
    blocks.starts.push_back(static_cast<int>(start + skipped));
    start += num_rows;
  }
  return blocks;
}

}  // namespace

class MpiCollectives::HostWork : public Work {
 public:
  HostWork(std::future<double> done, Ledger& ledger, CollectiveKind kind, std::int64_t bytes)
      : done_(std::move(done)), ledger_(ledger), kind_(kind), bytes_(bytes) {}

  void wait() override {
    if (!done_.valid()) return;
    const TimePoint start = SteadyClock::now();
    const double seconds = done_.get();
    ledger_.add(kind_, bytes_, seconds, seconds_since(start));
  }

 private:
  std::future<double> done_;
  Ledger& ledger_;
  CollectiveKind kind_;
  std::int64_t bytes_;
};

MpiCollectives::MpiCollectives(const Communicator& communicator, const Communicator& node)
    : communicator_(communicator.duplicate()),
      large_(communicator_, node),
      small_(communicator_, node),
      ledger_(communicator.size()) {}

MpiCollectives::~MpiCollectives() {
  if (!thread_.is_idle()) large_.give_up();
}

at::Tensor MpiCollectives::allocate_flat(std::int64_t numel, at::ScalarType type) {
  const auto options = at::TensorOptions().dtype(type);
  const std::size_t bytes = static_cast<std::size_t>(numel) * c10::elementSize(type);
  std::shared_ptr<SharedMemory> memory;
  if (large_.node().size() > 1 && numel > 0) memory = SharedMemory::create(large_.node(), bytes);
  memories_.push_back(memory);
  if (!memory) return at::zeros({numel}, options);
  return at::from_blob(
      memory->part(memory->own_rank()), {numel}, [memory](void*) {}, options);
}

SumOperand MpiCollectives::operand(const at::Tensor& flat) const {
  SumOperand operand{bytes_at(flat), static_cast<std::size_t>(flat.numel()), flat.scalar_type(), nullptr, 0, {}};
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    std::shared_ptr<SharedMemory> memory = memories_[i].lock();
    if (!memory || !memory->owns(flat.data_ptr(), flat.nbytes())) continue;
    operand.memory = std::move(memory);
    operand.memory_number = i;
    break;
  }
  return operand;
}

std::unique_ptr<Work> MpiCollectives::submit(const at::Tensor& flat, std::optional<int> root) {
  SumOperand todo = operand(flat);
  todo.root = root;
  // The tensor comes along to stay alive.
  std::future<double> done = thread_.submit([this, todo = std::move(todo), flat] {
    const Watchdog::Guard guard(communicator_.watchdog(), todo.root ? "reduce" : "all-reduce");
    large_.sum(todo);
  });
  return std::make_unique<HostWork>(std::move(done), ledger_,
                                    root ? CollectiveKind::reduce : CollectiveKind::all_reduce, bytes_of(flat));
}

std::unique_ptr<Work> MpiCollectives::start_sum(const at::Tensor& flat) {
  check_flat(flat, at::kCPU, "start_sum");
  return submit(flat, std::nullopt);
}

void MpiCollectives::sum(const at::Tensor& flat) {
  check_flat(flat, at::kCPU, "sum");
  if (flat.nbytes() > QuickSum::kMaxBytes) return submit(flat, std::nullopt)->wait();
  const TimePoint start = SteadyClock::now();
  {
    const Watchdog::Guard guard(communicator_.watchdog(), "all-reduce");
    small_.sum(bytes_at(flat), static_cast<std::size_t>(flat.numel()), flat.scalar_type());
  }
  const double seconds = seconds_since(start);
  ledger_.add(CollectiveKind::all_reduce, bytes_of(flat), seconds, seconds);
}

void MpiCollectives::reduce(const at::Tensor& flat, int root) {
  check_flat(flat, at::kCPU, "reduce");
  submit(flat, root)->wait();
}

void MpiCollectives::broadcast(const at::Tensor& tensor, int root) {
  check_contiguous(tensor, at::kCPU, "broadcast");
  const TimePoint start = SteadyClock::now();
  communicator_.broadcast(std::span(static_cast<unsigned char*>(tensor.data_ptr()), tensor.nbytes()), root);
  const double seconds = seconds_since(start);
  ledger_.add(CollectiveKind::broadcast, bytes_of(tensor), seconds, seconds);
}

void MpiCollectives::scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                                  int root) {
  check_scatter(all, mine, rows, rank(), root);
  const TimePoint start = SteadyClock::now();
  {
    const Watchdog::Guard guard(communicator_.watchdog(), "scatter");
    const RowType row(row_bytes(mine));
    const auto most = static_cast<std::int64_t>(kMaxTransferBytes) / std::max<std::int64_t>(1, row_bytes(mine));
    const std::int64_t longest = *std::max_element(rows.begin(), rows.end());
    for (std::int64_t first = 0; first < longest; first += most) {
      const Blocks blocks = cut(rows, first, most);
      const void* from = rank() == root ? all.const_data_ptr() : nullptr;
      std::byte* to = bytes_at(mine) + std::min(first, mine.size(0)) * row_bytes(mine);
      check_mpi(
          MPI_Scatterv(from, blocks.counts.data(), blocks.starts.data(), row.handle(), to,
                       blocks.counts[static_cast<std::size_t>(rank())], row.handle(), root, native(communicator_)),
          "MPI_Scatterv");
    }
  }
  const double seconds = seconds_since(start);
  const std::int64_t num_rows = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  ledger_.add(CollectiveKind::scatter, num_rows * row_bytes(mine), seconds, seconds);
}

}  // namespace multicard
