#pragma once
/// \file Reading a few values from the device while it computes.

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Copies small tensors to host memory, after the work queued on the device so far. Reading them later, when the
/// device has other work in its queue, never idles it. Values come out in the order they went in.
///
///     readback.start({loss, norm});     // of this step
///     if (readback.num_started() > 1)
///       values = readback.take();       // of the step before
class Readback {
 public:
  virtual ~Readback() = default;

  /// Starts copying tensors of the device, of any shapes and types. They may change as soon as this returns: later work
  /// of the current stream comes after the copy.
  virtual void start(const std::vector<at::Tensor>& values) = 0;
  /// The oldest values started and not taken, of all tensors one after the other. The host waits for their copy, and
  /// for nothing that the device was given after it. Throws std::logic_error when there are none.
  virtual std::vector<double> take() = 0;
  /// Values started and not taken.
  virtual std::size_t num_started() const = 0;
};

/// Throws EnvironmentError for a CUDA device in a build without CUDA.
std::unique_ptr<Readback> make_readback(at::Device device);

/// Elements of host tensors, one after the other.
std::vector<double> elements_of(const std::vector<at::Tensor>& tensors);

/// Sums over batches that are computed one after the other, in float64 and in their order. Each batch's values are read
/// while the device works on the next: it always has one in its queue, and the host is never further ahead, where its
/// uploads would pile up in the device's memory.
class BatchSums {
 public:
  /// \param num_values how many values each batch adds
  BatchSums(at::Device device, std::size_t num_values);

  /// Adds one batch's `values`, a tensor of the device with as many elements; any shape and type.
  void add(const at::Tensor& values);
  /// The sums so far: waits for the last batch.
  const std::vector<double>& finish();

 private:
  void take_all_but(std::size_t newest);

  std::unique_ptr<Readback> readback_;
  std::vector<double> sums_;
};

}  // namespace multicard
