#pragma once
/// \file Waiting for many messages without taking a core; for modules/dist only.

#include <cstddef>
#include <functional>
#include <memory>

#include "comm/Communicator.hpp"

namespace multicard {

/// Below Open MPI's eager limit over TCP, 64 kB with its header: larger messages are written by the receiver's request
/// (btl_tcp's put), during which nothing is sent the other way, and a link is used by 0.59 instead of 0.97.
inline constexpr std::size_t kSegmentBytes = std::size_t{60} << 10;

/// Messages under way, numbered in the order in which they were started.
class OpenMessages {
 public:
  /// \param communicator used as long as this
  explicit OpenMessages(const Communicator& communicator);
  ~OpenMessages();
  OpenMessages(const OpenMessages&) = delete;
  OpenMessages& operator=(const OpenMessages&) = delete;

  /// \param bytes less than 1 GB
  /// @{
  void send(int rank, int tag, const std::byte* from, std::size_t bytes);
  void receive(int rank, int tag, std::byte* to, std::size_t bytes);
  /// @}
  /// Waits for all of them, and for those that `done` starts, which gets the number of each when it has arrived or
  /// gone.
  void wait(const std::function<void(std::size_t number)>& done);

 private:
  struct Requests;

  /// Whether any has arrived or gone.
  bool progress(const std::function<void(std::size_t)>& done);

  const Communicator& communicator_;
  std::unique_ptr<Requests> requests_;
  std::size_t num_open_ = 0;
};

}  // namespace multicard
