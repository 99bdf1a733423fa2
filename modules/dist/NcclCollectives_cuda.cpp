#include <deque>
#include <functional>
#include <numeric>
#include <optional>

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "comm/Watchdog.hpp"
#include "device/StepClock.hpp"
#include "dist/CommStats.hpp"
#include "dist/DeviceMonitor.hpp"
#include "dist/NcclCollectives.hpp"
#include "dist/NcclComm.hpp"
#include "dist/NcclCommDtypeAllReduce.hpp"
#include "dist/TensorChecks.hpp"
#include "profiler/WorkScope.hpp"

namespace multicard {

namespace {

ncclDataType_t nccl_type(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? ncclDouble : ncclFloat;
}

std::size_t numel_of(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel());
}

bool is_capturing() {
  return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

/// Turns intervals between marks on streams into statistics, once the GPU has passed them.
class DeviceCommStats {
 public:
  DeviceCommStats(at::Device device, int num_ranks) : marks_(make_device_marks(device)), stats_(num_ranks) {}

  struct Entry {
    CollectiveKind kind;
    std::int64_t bytes;
    TimeMarks::Mark started, ended;          ///< on the communication stream
    TimeMarks::Mark wait_began, wait_ended;  ///< on the stream that waited
  };

  /// A mark on the current stream.
  TimeMarks::Mark mark() { return marks_->set(); }
  void add(const Entry& entry) {
    entries_.push_back(entry);
    resolve();
  }
  std::map<std::string, CommunicationTotals> totals() {
    if (!entries_.empty()) marks_->wait_for(entries_.back().wait_ended);
    resolve();
    return stats_.totals();
  }

 private:
  void resolve() {
    // Never waits: it takes only what the GPU has passed. An operation's last mark is that of the wait for it.
    while (!entries_.empty() && marks_->reached(entries_.front().wait_ended)) {
      const Entry& entry = entries_.front();
      // A kernel of NCCL waits for the other ranks and transfers: its events cannot tell the two apart.
      stats_.add(entry.kind, entry.bytes,
                 {marks_->seconds(entry.started, entry.ended), marks_->seconds(entry.wait_began, entry.wait_ended),
                  std::numeric_limits<double>::quiet_NaN()});
      for (const TimeMarks::Mark mark : {entry.started, entry.ended, entry.wait_began, entry.wait_ended})
        marks_->release(mark);
      entries_.pop_front();
    }
  }

  std::unique_ptr<TimeMarks> marks_;
  CommStats stats_;
  std::deque<Entry> entries_;
};

/// A collective on the communication stream. Keeps its tensors alive until a stream has waited for it.
class DeviceWork : public Work {
 public:
  DeviceWork(std::vector<at::Tensor> tensors, std::shared_ptr<at::cuda::CUDAEvent> done, DeviceCommStats* stats,
             const DeviceCommStats::Entry& entry)
      : tensors_(std::move(tensors)), done_(std::move(done)), stats_(stats), entry_(entry) {}

  void wait() override {
    if (tensors_.empty()) return;
    std::optional<CollectiveWait> waiting;
    if (stats_) {
      waiting.emplace();
      entry_.wait_began = stats_->mark();
    }
    done_->block(c10::cuda::getCurrentCUDAStream(tensors_.front().get_device()));
    // Only now may their memory be reused: torch's allocator orders uses by the stream that allocated a tensor, and
    // knows the communication stream's only through this wait.
    tensors_.clear();
    if (!stats_) return;
    entry_.wait_ended = stats_->mark();
    stats_->add(entry_);
  }

 private:
  std::vector<at::Tensor> tensors_;
  std::shared_ptr<at::cuda::CUDAEvent> done_;
  DeviceCommStats* stats_;  ///< null inside a graph, whose events have no time of their own
  DeviceCommStats::Entry entry_;
};

class NcclCollectives final : public TensorCollectives {
 public:
  NcclCollectives(const Communicator& communicator, at::Device device)
      : communicator_(communicator.duplicate()),
        device_(device),
        nccl_(communicator_),
        comm_dtype_all_reduce_(nccl_, communicator_.rank(), communicator_.size()),
        // High priority: a collective has few blocks, and all GPUs wait for those that backward's kernels keep out.
        stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index())),
        stats_(device, communicator.size()),
        monitor_(device, [this] { nccl_.check_background(); }) {
    // Connections are made by the first collective; it must not be one inside a graph.
    warm_up();
  }

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  at::Device device() const override { return device_; }
  const char* name() const override { return "nccl"; }
  std::int64_t bucket_bytes() const override { return kNcclBucketBytes; }

  at::Tensor allocate_flat(std::int64_t numel, at::ScalarType type) override {
    return at::zeros({numel}, at::TensorOptions().dtype(type).device(device_));
  }

  std::unique_ptr<Work> start_all_reduce(const at::Tensor& flat, const ReduceOptions& options) override {
    check_all_reduce(flat, device_, options.comm_dtype, "start_all_reduce");
    const char* operation = options.root ? "reduce" : "all-reduce";
    return enqueue(kind_of(options), operation, {flat}, all_reduce_bytes(flat, options.comm_dtype),
                   [&](cudaStream_t stream) {
                     if (flat.scalar_type() == at::kBFloat16)  // NCCL itself would round after every rank
                       comm_dtype_all_reduce_.all_reduce(flat, {CommDtype::bf16, options.root}, stream);
                     else if (options.comm_dtype != CommDtype::same)
                       comm_dtype_all_reduce_.all_reduce(flat, options, stream);
                     else if (options.root)
                       nccl_.check(ncclReduce(flat.data_ptr(), flat.data_ptr(), numel_of(flat), nccl_type(flat),
                                              ncclSum, *options.root, nccl_.handle(), stream),
                                   operation);
                     else
                       nccl_.check(ncclAllReduce(flat.data_ptr(), flat.data_ptr(), numel_of(flat), nccl_type(flat),
                                                 ncclSum, nccl_.handle(), stream),
                                   operation);
                   });
  }

  std::unique_ptr<Work> start_all_gather(const at::Tensor& part, const at::Tensor& whole) override {
    check_all_gather(part, whole, device_, size());
    return enqueue(
        CollectiveKind::all_gather, "all-gather", {part, whole}, bytes_of({whole}), [&](cudaStream_t stream) {
          nccl_.check(
              ncclAllGather(part.const_data_ptr(), whole.data_ptr(), part.nbytes(), ncclChar, nccl_.handle(), stream),
              "all-gather");
        });
  }

  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype) override {
    check_reduce_scatter(flat, device_, comm_dtype, size());
    const bool is_bf16 = flat.scalar_type() == at::kBFloat16;
    return enqueue(CollectiveKind::reduce_scatter, "reduce-scatter", {flat}, all_reduce_bytes(flat, comm_dtype),
                   [&](cudaStream_t stream) {
                     if (is_bf16 || comm_dtype != CommDtype::same)
                       return comm_dtype_all_reduce_.reduce_scatter(flat, is_bf16 ? CommDtype::bf16 : comm_dtype,
                                                                    stream);
                     const at::Tensor part = flat.view({size(), -1})[rank()];
                     nccl_.check(ncclReduceScatter(flat.const_data_ptr(), part.data_ptr(), numel_of(part),
                                                   nccl_type(flat), ncclSum, nccl_.handle(), stream),
                                 "reduce-scatter");
                   });
  }

  std::unique_ptr<Work> start_small_all_reduce(const at::Tensor& flat) override { return start_all_reduce(flat, {}); }

  void broadcast(const std::vector<at::Tensor>& tensors, int root) override {
    for (const at::Tensor& tensor : tensors)
      check_dense(tensor, device_, "broadcast");
    enqueue(CollectiveKind::broadcast, "broadcast", tensors, bytes_of(tensors), [&](cudaStream_t stream) {
      // One launch for all of them.
      ncclGroupStart();
      for (const at::Tensor& tensor : tensors)
        if (tensor.nbytes() > 0)
          ncclBroadcast(tensor.data_ptr(), tensor.data_ptr(), tensor.nbytes(), ncclChar, root, nccl_.handle(), stream);
      nccl_.check(ncclGroupEnd(), "broadcast");  // reports what went wrong inside the group
    })->wait();
  }

  void scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                    int root) override {
    check_scatter(all, mine, rows, rank(), root);
    const std::int64_t num_rows = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    enqueue(CollectiveKind::scatter, "scatter", {mine, all}, num_rows * row_bytes(mine), [&](cudaStream_t stream) {
      send_rows(all, mine, rows, root, stream);
    })->wait();
  }

  std::map<std::string, CommunicationTotals> totals() override { return stats_.totals(); }
  void set_group(const RankGroup& group) override { ranks_ = group; }

 private:
  using Body = std::function<void(cudaStream_t)>;

  /// Puts a collective on the communication stream, after the work queued on the current stream. `body` leaves
  /// everything on the stream that it is given, which is the current one then. The guard is open from before the first
  /// call, which may wait for other ranks, until the GPU has passed the last.
  std::unique_ptr<DeviceWork> enqueue(CollectiveKind kind, const char* operation, std::vector<at::Tensor> tensors,
                                      std::int64_t bytes, const Body& body) {
    // During capture nothing runs: there is nothing to time or to monitor, and the guard covers the calls alone.
    const bool captured = is_capturing();
    const LaunchScope launching(ranks_);
    auto guard = std::make_unique<Watchdog::Guard>(communicator_.watchdog(), operation);
    at::cuda::CUDAEvent ready;
    ready.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    const c10::cuda::CUDAStreamGuard on(stream_);
    ready.block(stream_);
    DeviceCommStats::Entry entry{kind, bytes, 0, 0, 0, 0};
    if (!captured) entry.started = stats_.mark();
    body(stream_.stream());
    if (!captured) entry.ended = stats_.mark();
    const auto done = std::make_shared<at::cuda::CUDAEvent>();
    done->record(stream_);
    if (!captured) monitor_.watch(done, std::move(guard));
    return std::make_unique<DeviceWork>(std::move(tensors), done, captured ? nullptr : &stats_, entry);
  }

  void send_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows, int root,
                 cudaStream_t stream) {
    const auto width = static_cast<std::size_t>(row_bytes(mine));
    // A send and its receive have the same number of bytes on both sides, so both leave out empty blocks. The root
    // sends to itself too; inside a group that does not wait.
    ncclGroupStart();
    if (rank() == root) {
      const auto* from = static_cast<const std::byte*>(all.const_data_ptr());
      for (int r = 0; r < size(); ++r) {
        const std::size_t bytes = static_cast<std::size_t>(rows[static_cast<std::size_t>(r)]) * width;
        if (bytes > 0) ncclSend(from, bytes, ncclChar, r, nccl_.handle(), stream);
        from += bytes;
      }
    }
    if (mine.nbytes() > 0) ncclRecv(mine.data_ptr(), mine.nbytes(), ncclChar, root, nccl_.handle(), stream);
    nccl_.check(ncclGroupEnd(), "scatter");
  }

  void warm_up() {
    const at::Tensor one = allocate_flat(1, at::kFloat);
    const std::unique_ptr<Work> first = start_all_reduce(one, {});  // not waited for: it is not in the statistics
    stream_.synchronize();
  }

  Communicator communicator_;
  at::Device device_;
  RankGroup ranks_;
  NcclComm nccl_;
  NcclCommDtypeAllReduce comm_dtype_all_reduce_;
  c10::cuda::CUDAStream stream_;
  DeviceCommStats stats_;
  DeviceMonitor monitor_;
};

}  // namespace

std::unique_ptr<TensorCollectives> make_nccl_collectives(const Communicator& communicator, at::Device device) {
  const at::DeviceIndex index = device.has_index() ? device.index() : c10::cuda::current_device();
  c10::cuda::set_device(index);
  return std::make_unique<NcclCollectives>(communicator, at::Device(at::kCUDA, index));
}

}  // namespace multicard
