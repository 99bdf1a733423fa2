#pragma once
/// \file Which base model a language model has: the hash of its weights.

#include <future>
#include <optional>
#include <stop_token>
#include <string>

#include <c10/core/ScalarType.h>

#include "comm/Communicator.hpp"
#include "state/ModelFolder.hpp"

namespace multicard {

/// ModelFolder::sha256() of a model's folder. Reading all of its files takes minutes for large models: each rank hashes
/// some of them while it trains, and the ranks exchange what they have found when it is first needed.
class BaseIdentity {
 public:
  /// \param random_seed of weights that are not read from files, which have `type` then
  BaseIdentity(std::string folder, std::optional<std::uint64_t> random_seed, c10::ScalarType type);
  /// What is under way ends.
  ~BaseIdentity() { stop_.request_stop(); }
  BaseIdentity(const BaseIdentity&) = delete;
  BaseIdentity& operator=(const BaseIdentity&) = delete;

  /// Starts to hash this rank's part of the files in the background, unless that has been started. \throws
  /// EnvironmentError where no further thread is allowed
  void start(const Communicator& communicator);
  /// Collective. Waits until all files are hashed, whatever parts of them ranks have started with. \throws DataError
  /// about the files, on all ranks
  void finish(const Communicator& communicator);
  /// Nothing before finish().
  const std::optional<std::string>& sha256() const { return sha256_; }

 private:
  std::string folder_;
  std::optional<std::uint64_t> random_seed_;
  c10::ScalarType type_;
  std::optional<std::string> sha256_;
  std::stop_source stop_;
  std::shared_future<ModelFolder::FileHashes> started_;
};

}  // namespace multicard
