#include "data/loading/ImageLoader.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/Thread.hpp"
#include "data/loading/BatchMaker.hpp"

namespace multicard {

namespace {

template <class Body>
std::exception_ptr caught(Body&& body) {
  try {
    body();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

/// The queue of batches between the threads, all of it under one mutex that is not held while reading or preparing:
/// - The reader alone appends, in step order, and waits on room_ while `prefetch` batches are queued. It reads the rows
///   of a batch, marks it as read and wakes the workers.
/// - A worker claims the next piece of the oldest batch that has unclaimed rows, prepares it and adds it to
///   num_prepared. Pieces do not overlap, so workers write into one batch at the same time.
/// - next() alone removes: it waits on ready_ until the front batch has all its rows prepared or an error, hands it out
///   and makes room. Batches come in step order whatever the timing, so the numbers do not depend on the threads.
///
/// An exception stays in its batch and is rethrown by every next() that reaches it; after a failed read the reader
/// ends. stop() wakes the reader and the workers, which end after what they are at, and joins them. Pointers into the
/// queue hold because a deque leaves its elements in place, and a batch is not removed before its last piece is
/// prepared.
class ImageLoader::Engine {
 public:
  Engine(BatchMaker maker, const LoaderOptions& options, std::int64_t first_step, std::int64_t last_step);
  ~Engine();
  std::optional<ImageBatch> next();

 private:
  struct Ahead {
    PendingBatch pending;
    std::int64_t num_claimed = 0, num_prepared = 0;
    bool is_read = false;
    std::exception_ptr error;

    bool has_work() const { return is_read && !error && num_claimed < pending.batch.num_rows; }
    bool is_ready() const { return error || (is_read && num_prepared == pending.batch.num_rows); }
  };

  /// Ends the threads that run.
  void stop();
  ImageBatch make_now(std::int64_t step);
  void read_ahead();
  void work();
  /// The oldest batch that has rows to prepare; null when there is none. The mutex is held.
  Ahead* find_work();

  BatchMaker maker_;
  int num_workers_;
  std::size_t prefetch_;
  std::int64_t next_step_, last_step_;
  std::mutex mutex_;
  std::condition_variable room_, work_, ready_;
  std::deque<Ahead> ahead_;  // elements stay where they are while others come and go at the ends
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

ImageLoader::Engine::Engine(BatchMaker maker, const LoaderOptions& options, std::int64_t first_step,
                            std::int64_t last_step)
    : maker_(std::move(maker)),
      num_workers_(options.num_workers),
      prefetch_(static_cast<std::size_t>(std::max(1, options.prefetch))),
      next_step_(first_step),
      last_step_(last_step) {
  if (num_workers_ == 0) return;
  // Where the workers read, the first thread has next to nothing to do.
  if (maker_.reads_in_prepare()) ++num_workers_;
  try {
    threads_.push_back(start_thread("the loader's reader", "loader-reader", [this] { read_ahead(); }));
    for (int worker = 0; worker < num_workers_; ++worker)
      threads_.push_back(start_thread("a worker of the loader", "loader-worker", [this] { work(); }));
  } catch (...) {
    stop();
    throw;
  }
}

ImageLoader::Engine::~Engine() {
  stop();
}

void ImageLoader::Engine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  work_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

std::optional<ImageBatch> ImageLoader::Engine::next() {
  if (next_step_ >= last_step_) return std::nullopt;
  if (num_workers_ == 0) return make_now(next_step_++);
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] { return !ahead_.empty() && ahead_.front().is_ready(); });
  // A failed batch stays in front, so that every further call fails too.
  if (ahead_.front().error) std::rethrow_exception(ahead_.front().error);
  ImageBatch batch = std::move(ahead_.front().pending.batch);
  ahead_.pop_front();
  ++next_step_;
  // The reader may be waiting for room: exactly one batch has left, so that waking one thread is enough.
  room_.notify_one();
  return batch;
}

ImageBatch ImageLoader::Engine::make_now(std::int64_t step) {
  PendingBatch pending = maker_.begin(step);
  maker_.read(pending);
  maker_.prepare(pending, 0, pending.batch.num_rows);
  return std::move(pending.batch);
}

// The entry is appended before it is filled, which reserves its place in the order and its share of `prefetch`. The
// workers pass it over until is_read is set, under the mutex; that also makes its contents visible to them.
void ImageLoader::Engine::read_ahead() {
  std::unique_lock lock(mutex_);
  const std::int64_t first_step = next_step_;
  for (std::int64_t step = first_step; step < last_step_; ++step) {
    room_.wait(lock, [&] { return stopping_ || ahead_.size() < prefetch_; });
    if (stopping_) return;
    Ahead& mine = ahead_.emplace_back();
    lock.unlock();
    const std::exception_ptr error = caught([&] {
      mine.pending = maker_.begin(step);
      maker_.read(mine.pending);
    });
    lock.lock();
    mine.is_read = true;
    mine.error = error;
    work_.notify_all();
    ready_.notify_one();
    if (mine.error) return;
  }
}

ImageLoader::Engine::Ahead* ImageLoader::Engine::find_work() {
  for (Ahead& batch : ahead_)
    if (batch.has_work()) return &batch;
  return nullptr;
}

void ImageLoader::Engine::work() {
  // Several pieces a worker: with one each, the slowest worker would decide when the batch is ready.
  constexpr std::int64_t kPiecesPerWorker = 4;
  std::unique_lock lock(mutex_);
  while (true) {
    Ahead* batch = nullptr;
    work_.wait(lock, [&] { return stopping_ || (batch = find_work()); });
    if (stopping_) return;
    const std::int64_t num_rows = batch->pending.batch.num_rows, first = batch->num_claimed;
    const std::int64_t piece = std::max<std::int64_t>(1, num_rows / (kPiecesPerWorker * num_workers_));
    const std::int64_t count = std::min(piece, num_rows - first);
    batch->num_claimed += count;
    lock.unlock();
    const std::exception_ptr error = caught([&] { maker_.prepare(batch->pending, first, count); });
    lock.lock();
    batch->num_prepared += count;
    if (error) batch->error = error;
    // After an error is_ready() holds although other workers are still at pieces of the batch. That is safe: next()
    // then throws and leaves the batch where it is, until stop() has joined them.
    if (batch->is_ready()) ready_.notify_one();
  }
}

std::int64_t loader_bytes(const LoaderOptions& options, std::int64_t num_rows) {
  constexpr std::int64_t kWithCaller = 2;
  const PreprocessOptions& images = options.preprocess;
  const auto element = static_cast<std::int64_t>(c10::elementSize(options.dtype));
  const std::int64_t stored = images.height * images.width * images.channels +
                              (options.augment.changes_images() ? std::int64_t{sizeof(ImageWindow)} : 0);
  const std::int64_t made = 3 * images.size * images.size * element;
  const std::int64_t label = sizeof(std::int64_t);
  const std::int64_t ahead = options.num_workers == 0 ? 1 : std::max(1, options.prefetch);
  // A batch of the host pipeline keeps its bytes until it is handed out.
  const std::int64_t per_row = options.pipeline == InputPipeline::host
                                   ? ahead * stored + (ahead + kWithCaller) * (made + label)
                                   : (ahead + kWithCaller) * (stored + label);
  return num_rows * per_row;
}

ImageLoader::ImageLoader(const ImageShards& shards, const Sampler& sampler, const LoaderOptions& options, int rank,
                         int num_ranks, std::int64_t first_step, std::int64_t last_step)
    : engine_(std::make_unique<Engine>(BatchMaker(shards, sampler, options, rank, num_ranks), options, first_step,
                                       last_step)) {}

ImageLoader::~ImageLoader() = default;

std::optional<ImageBatch> ImageLoader::next() {
  return engine_->next();
}

}  // namespace multicard
