#pragma once
/// \file Batches of one set of shards, from the files to the compute device.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "comm/Communicator.hpp"
#include "data/loading/Batch.hpp"
#include "data/loading/LoadingTimes.hpp"
#include "data/loading/Sampler.hpp"
#include "device/BatchUploader.hpp"

namespace multicard {

/// What rates count: "images", abbreviated "img", or "tokens", abbreviated "tok".
struct WorkUnit {
  const char* name;
  const char* abbreviation;
};

/// Batches that a GPU holds at a time: the one computed on and the next, which is being uploaded.
inline constexpr std::int64_t kBatchesOnDevice = 2;

/// Rows that a network computes at once.
struct PartShape {
  std::int64_t rows = 0;
  std::int64_t size = 0;     ///< what the work grows with: pixels, or tokens with padding
  std::int64_t targets = 0;  ///< of text
  std::int64_t longest = 0;  ///< tokens of the longest sequence
};

/// Bytes that batches take on one rank.
struct InputMemory {
  std::int64_t host = 0;            ///< batches read ahead
  std::int64_t kept = 0;            ///< this rank's part of the rows that are kept once they are read (data.cache)
  std::int64_t device = 0;          ///< batches on the compute device
  std::int64_t before_forward = 0;  ///< what finishing a batch takes on the device, gone when forward begins
};

/// Reads the rows of one set of shards in the sampler's order, some batches ahead, and brings them to the compute
/// device as the network takes them. It knows nothing of networks, and of other ranks only which rows are theirs. A
/// batch passes
///
///     Batch batch = source.next();          // host memory
///     batch = source.to_device(batch);      // on a GPU an upload that overlaps with computing
///     batch = source.finish(batch);         // this rank's rows, ready for the network
///
/// Not collective, but for opening and closing the shards.
class DataSource {
 public:
  virtual ~DataSource() = default;
  DataSource(const DataSource&) = delete;
  DataSource& operator=(const DataSource&) = delete;

  const Sampler& sampler() const { return sampler_; }
  std::int64_t steps_per_epoch() const { return sampler_.steps_per_epoch(); }
  /// Rows of the global batch of `step`.
  std::int64_t rows_in(std::int64_t step) const { return sampler_.rows_in(step); }

  /// Starts to read ahead for `plan`, whatever was read before; batches then come in step order.
  void start_reading(const ReadPlan& plan);
  /// Ends reading, without waiting for batches that are not begun.
  void stop_reading() { close_loader(); }
  /// Waits for the next batch in host memory. An error of reading is thrown in the place of its batch.
  Batch next();
  Batch to_device(Batch batch);
  Batch finish(Batch batch) const;
  /// This rank's rows of `step` on the compute device, uninitialised, as next() and to_device() would give them: where
  /// rows that the root scatters arrive.
  virtual Batch allocate(std::int64_t step) const = 0;
  /// Copied from host to device so far; 0 on the CPU.
  std::int64_t bytes_to_device() const { return uploader_->bytes_copied(); }

  /// What reading batches has taken so far.
  const LoadingTimes& loading_times() const { return loading_times_; }

  virtual WorkUnit unit() const = 0;
  /// Units in the global batch of `step`, over all ranks.
  virtual std::int64_t work_in(std::int64_t step) const = 0;
  /// Of a rank that reads `rows_read` rows a step and computes on `rows` of them.
  virtual InputMemory memory(std::int64_t rows, std::int64_t rows_read) const = 0;
  /// The most that the plan's rank computes at once in the plan's steps when it takes `rows` rows at a time; of text
  /// each number by itself is the largest that occurs, or where counting would take long, that can occur.
  virtual PartShape largest_part(std::int64_t rows, const ReadPlan& plan) const = 0;
  /// Numbers that tell this data from other data, by name, for checkpoints.
  virtual std::map<std::string, double> identity() const = 0;
  /// The same in texts.
  virtual std::map<std::string, std::string> identity_texts() const { return {}; }

 protected:
  /// Where finish() computes. On the device all rows that were read go there first.
  enum class Finishing { on_host, on_device };

  /// \throws EnvironmentError for a GPU in a build without CUDA
  DataSource(Sampler sampler, at::Device device, Finishing finishing);

  at::Device device() const { return device_; }
  /// The rows that this rank trains on in `step`.
  std::int64_t local_rows(std::int64_t step) const;
  const ReadPlan& plan() const { return plan_; }
  LoadingTimes& mutable_loading_times() { return loading_times_; }

 private:
  /// Starts to read part `rank` of `num_ranks` of the steps [first_step, last_step).
  virtual void open_loader(int rank, int num_ranks, std::int64_t first_step, std::int64_t last_step) = 0;
  /// Ends its threads and frees its batches; nothing where none is open.
  virtual void close_loader() = 0;
  virtual Batch read() = 0;
  /// For Finishing::on_device: bytes as stored -> the network's input.
  virtual Batch finish_on_device(Batch batch) const { return batch; }

  Sampler sampler_;
  at::Device device_;
  Finishing finishing_;
  std::unique_ptr<BatchUploader> uploader_;
  ReadPlan plan_;
  LoadingTimes loading_times_;
};

/// Reads one epoch of `source`, each rank its part, and calls `body` with every batch of at least one row, finished, in
/// order. For all ranks of `communicator`; not collective itself.
void for_each_batch(DataSource& source, const Communicator& communicator,
                    const std::function<void(const Batch& batch)>& body);

}  // namespace multicard
