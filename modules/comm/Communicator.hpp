#pragma once
/// \file Host-side message passing between ranks. MPI itself is hidden by this header (comm/Native.hpp shows the
/// handle).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace multicard {

class Watchdog;

enum class ReduceOp { sum, min, max };

/// Whether a new group shares limit and step with the group that it comes from (see Watchdog).
enum class Watched { apart, together };

/// The element types that collectives know.
enum class Datatype { byte, int32, int64, uint64, float32, float64 };

template <class T>
constexpr Datatype datatype() {
  static_assert(std::is_arithmetic_v<T>, "collectives carry numbers (pass ranges as std::span<T>)");
  if constexpr (std::is_same_v<T, float>) return Datatype::float32;
  if constexpr (std::is_same_v<T, double>) return Datatype::float64;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 1) return Datatype::byte;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4) return Datatype::int32;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8) return Datatype::int64;
  if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T> && sizeof(T) == 8) return Datatype::uint64;
}

/// A group of ranks. A value: copies share the same group. The null communicator is one rank and never calls MPI, so
/// that code for one rank needs no branches. All operations marked collective must be called by all ranks of the group
/// in the same order. Each of them is bounded by the group's time-out (see Watchdog); an MPI failure is a
/// CommunicationError.
class Communicator {
 public:
  /// One rank, without MPI.
  static Communicator null();

  int rank() const;
  int size() const;
  bool is_root() const { return rank() == 0; }
  bool is_null() const;

  /// Collective. Ranks with equal `color` form a group, ordered by `key`. It is watched apart, as a run on it is one
  /// of its own, unless it serves the operations of this one.
  Communicator split(int color, int key, Watched watched = Watched::apart) const;
  /// Collective. The ranks that share this rank's memory, i.e. its node.
  Communicator split_by_node() const;
  /// Collective. The same ranks with a message space of their own (e.g. for another thread).
  Communicator duplicate() const;

  /// Collective.
  void barrier() const;
  /// Collective. A barrier for ranks that have nothing to do until the others arrive: it sleeps between looks instead
  /// of spinning on a core, and has no time-out while their processes answer (see Heartbeat).
  void idle_barrier() const;

  /// Collective. Everybody receives root's values.
  template <class T>
  void broadcast(std::span<T> values, int root = 0) const {
    broadcast_raw(values.data(), values.size(), datatype<T>(), root);
  }
  template <class T>
  T broadcast_value(T value, int root = 0) const {
    broadcast(std::span<T>(&value, 1), root);
    return value;
  }
  /// Collective. Everybody receives root's text, whatever its length.
  std::string broadcast(const std::string& text, int root = 0) const;

  /// Collective. In place, element by element. Every rank receives the same values; the order in which a sum is made is
  /// the MPI library's.
  template <class T>
  void allreduce(std::span<T> values, ReduceOp op) const {
    allreduce_raw(values.data(), values.size(), datatype<T>(), op);
  }
  template <class T>
  T allreduce(T value, ReduceOp op) const {
    allreduce(std::span<T>(&value, 1), op);
    return value;
  }

  /// Collective. Equal counts; rank r's values stand at r * count.
  template <class T>
  std::vector<T> allgather(std::span<const T> mine) const {
    std::vector<T> all(mine.size() * static_cast<std::size_t>(size()));
    allgather_raw(mine.data(), all.data(), mine.size(), datatype<T>());
    return all;
  }
  template <class T>
  std::vector<T> allgather(T mine) const {
    return allgather(std::span<const T>(&mine, 1));
  }
  /// Collective. The texts of all ranks in rank order; short ones, since every rank holds them all.
  std::vector<std::string> allgather(const std::string& mine) const;
  /// Collective. The same on root, whatever their lengths; empty on the other ranks.
  std::vector<std::string> gather(const std::string& mine, int root = 0) const;

  /// Collective. The text of the rank that lies `distance` before this one (after it, where that is negative), whatever
  /// its length; empty where there is no such rank.
  std::string shift(const std::string& mine, int distance) const;

  /// The guard of this group's collectives and of those of its nodes and duplicates. Null for the null communicator.
  Watchdog* watchdog() const;

  struct Impl;
  explicit Communicator(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  void broadcast_raw(void* data, std::size_t count, Datatype type, int root) const;
  void allreduce_raw(void* data, std::size_t count, Datatype type, ReduceOp op) const;
  void allgather_raw(const void* mine, void* all, std::size_t count, Datatype type) const;

  std::shared_ptr<Impl> impl_;
};

}  // namespace multicard
