#include "dist/MpiCollectives.hpp"

#include <numeric>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "base/Clock.hpp"
#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "device/DeviceError.hpp"
#include "device/HostTensors.hpp"
#include "device/StepClock.hpp"
#include "dist/TensorChecks.hpp"
#include "profiler/WorkScope.hpp"

namespace multicard {

namespace {

std::byte* bytes_at(const at::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

/// Memory of each rank's own. Where one has none all throw, since what follows is collective.
at::Tensor agreed_zeros(const Communicator& node, std::int64_t numel, const at::TensorOptions& options) {
  return agreed(node, [&] { return with_known_errors([&] { return at::zeros({numel}, options); }, MemoryUse::setup); });
}

}  // namespace

class MpiCollectives::HostWork : public Work {
 public:
  /// \param waited_s is set before `done`
  HostWork(std::future<double> done, std::shared_ptr<const double> waited_s, CommStats& stats, CollectiveKind kind,
           std::int64_t bytes)
      : done_(std::move(done)), waited_s_(std::move(waited_s)), stats_(stats), kind_(kind), bytes_(bytes) {}

  void wait() override {
    if (!done_.valid()) return;
    const CollectiveWait waiting;
    const TimePoint start = SteadyClock::now();
    const double seconds = done_.get();
    stats_.add(kind_, bytes_, {seconds, seconds_since(start), *waited_s_});
  }

 private:
  std::future<double> done_;
  std::shared_ptr<const double> waited_s_;
  CommStats& stats_;
  CollectiveKind kind_;
  std::int64_t bytes_;
};

MpiCollectives::MpiCollectives(const Communicator& communicator, const Communicator& node)
    : communicator_(communicator.duplicate()),
      group_(communicator_, node),
      all_reduce_(group_),
      reduce_scatter_(group_, all_reduce_),
      all_gather_(group_),
      small_(communicator_, node),
      copies_(communicator_, node),
      stats_(communicator.size()) {}

MpiCollectives::~MpiCollectives() {
  // Unfinished operations here mean that an exception passes. The thread would wait in them for ranks that may never
  // come, and the destructor of the thread for it.
  if (!thread_.is_idle() && group_.channel) group_.channel->abort();
}

at::Tensor MpiCollectives::allocate_flat(std::int64_t numel, at::ScalarType type) {
  const auto options = at::TensorOptions().dtype(type);
  const std::size_t bytes = static_cast<std::size_t>(numel) * c10::elementSize(type);
  std::shared_ptr<SharedMemory> memory;
  if (group_.node.size() > 1 && numel > 0) memory = SharedMemory::create(group_.node, bytes);
  std::erase_if(memories_, [](const NumberedMemory& known) { return known.memory.expired(); });
  // Counted also where there is none, so that the numbers stay equal on all ranks. Only tensors own memories: one lives
  // until the last tensor on it is gone, which may be after these collectives.
  memories_.push_back({num_allocated_++, memory});
  if (!memory) return agreed_zeros(group_.node, numel, options);
  const auto counted = static_cast<std::int64_t>(bytes);
  // The counter of host tensors sees what torch's allocator gives out, and this does not come from it.
  add_host_tensor_bytes(counted);
  return at::from_blob(
      memory->part(memory->own_rank()), {numel}, [memory, counted](void*) { add_host_tensor_bytes(-counted); },
      options);
}

std::pair<std::shared_ptr<SharedMemory>, std::size_t> MpiCollectives::memory_of(const at::Tensor& tensor) const {
  for (const NumberedMemory& known : memories_)
    if (std::shared_ptr<SharedMemory> memory = known.memory.lock();
        memory && memory->owns(tensor.const_data_ptr(), tensor.nbytes()))
      return {std::move(memory), known.number};
  return {};
}

ReduceOperand MpiCollectives::operand(const at::Tensor& flat, const ReduceOptions& options) const {
  auto [memory, number] = memory_of(flat);
  return {bytes_at(flat), static_cast<std::size_t>(flat.numel()), flat.scalar_type(), std::move(memory), number,
          options};
}

template <class Operation>
std::unique_ptr<Work> MpiCollectives::start(CollectiveKind kind, std::int64_t bytes, const char* name,
                                            Operation operation) {
  const auto waited_s = std::make_shared<double>(0);
  std::future<double> done =
      thread_.submit([this, kind, bytes, name, operation = std::move(operation), waited_s, sequence = num_large_++] {
        const Watchdog::Guard guard(communicator_.watchdog(), name);
        WorkScope work(WorkKind::collective, name_of(kind), bytes);
        work.set_sequence(ranks_, sequence);
        *waited_s = operation();
        work.set_waited(*waited_s);
      });
  return std::make_unique<HostWork>(std::move(done), waited_s, stats_, kind, bytes);
}

std::unique_ptr<Work> MpiCollectives::start_all_reduce(const at::Tensor& flat, const ReduceOptions& options) {
  check_all_reduce(flat, at::kCPU, options.comm_dtype, "start_all_reduce");
  // Here as below tensors come along to stay alive.
  return start(kind_of(options), all_reduce_bytes(flat, options.comm_dtype), options.root ? "reduce" : "all-reduce",
               [this, todo = operand(flat, options), flat] { return all_reduce_.all_reduce(todo); });
}

std::unique_ptr<Work> MpiCollectives::start_reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype) {
  check_reduce_scatter(flat, at::kCPU, comm_dtype, size());
  return start(CollectiveKind::reduce_scatter, all_reduce_bytes(flat, comm_dtype), "reduce-scatter",
               [this, todo = operand(flat, {comm_dtype, {}}), flat] { return reduce_scatter_.reduce_scatter(todo); });
}

std::unique_ptr<Work> MpiCollectives::start_all_gather(const at::Tensor& part, const at::Tensor& whole) {
  check_all_gather(part, whole, at::kCPU, size());
  auto [memory, number] = memory_of(part);
  GatherOperand todo{bytes_at(part), bytes_at(whole), part.nbytes(), std::move(memory), number};
  return start(CollectiveKind::all_gather, bytes_of({whole}), "all-gather",
               [this, todo = std::move(todo), part, whole] { return all_gather_.all_gather(todo); });
}

template <class Operation>
void MpiCollectives::run_here(CollectiveKind kind, std::int64_t bytes, const char* name, const Operation& operation) {
  const TimePoint start = SteadyClock::now();
  double waited_s = 0;
  {
    const CollectiveWait waiting;
    const Watchdog::Guard guard(communicator_.watchdog(), name);
    WorkScope work(WorkKind::collective, name, bytes);
    work.set_sequence(ranks_, num_here_++);
    waited_s = operation();
    work.set_waited(waited_s);
  }
  const double seconds = seconds_since(start);
  stats_.add(kind, bytes, {seconds, seconds, waited_s});
}

std::unique_ptr<Work> MpiCollectives::start_small_all_reduce(const at::Tensor& flat) {
  check_all_reduce(flat, at::kCPU, CommDtype::same, "all_reduce");
  // Size and type are equal on all ranks, so that all of them take the same of the two ways.
  if (flat.nbytes() > SmallAllReduce::kMaxBytes || flat.scalar_type() == at::kBFloat16)
    return start_all_reduce(flat, {});
  run_here(CollectiveKind::all_reduce, all_reduce_bytes(flat, CommDtype::same), "small all-reduce", [&] {
    return small_.all_reduce(bytes_at(flat), static_cast<std::size_t>(flat.numel()), flat.scalar_type());
  });
  return std::make_unique<DoneWork>();
}

void MpiCollectives::broadcast(const std::vector<at::Tensor>& tensors, int root) {
  std::vector<Bytes> blocks;
  for (const at::Tensor& tensor : tensors) {
    check_dense(tensor, at::kCPU, "broadcast");
    blocks.push_back({bytes_at(tensor), tensor.nbytes()});
  }
  run_here(CollectiveKind::broadcast, bytes_of(tensors), "broadcast", [&] { return copies_.broadcast(blocks, root); });
}

void MpiCollectives::scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                                  int root) {
  check_scatter(all, mine, rows, rank(), root);
  std::vector<std::size_t> counts;
  counts.reserve(rows.size());
  for (const std::int64_t num_rows : rows)
    counts.push_back(static_cast<std::size_t>(num_rows * row_bytes(mine)));
  const std::int64_t num_rows = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  run_here(CollectiveKind::scatter, num_rows * row_bytes(mine), "scatter",
           [&] { return copies_.scatter(rank() == root ? bytes_at(all) : nullptr, bytes_at(mine), counts, root); });
}

}  // namespace multicard
