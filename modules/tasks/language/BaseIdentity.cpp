#include "tasks/language/BaseIdentity.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/Thread.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "nn/language/LanguageNetwork.hpp"

namespace multicard {

namespace {

using FileHashes = ModelFolder::FileHashes;

/// Collective. What any rank has.
FileHashes united(const FileHashes& mine, const Communicator& communicator) {
  std::ostringstream text;
  for (const auto& [name, hash] : mine)
    text << hash << ' ' << name << '\n';
  FileHashes all;
  for (const std::string& of_rank : communicator.allgather(text.str())) {
    std::istringstream lines(of_rank);
    for (std::string hash, name; lines >> hash && std::getline(lines.ignore(), name);)
      all[name] = hash;
  }
  return all;
}

}  // namespace

BaseIdentity::BaseIdentity(std::string folder, std::optional<std::uint64_t> random_seed, c10::ScalarType type)
    : folder_(std::move(folder)), random_seed_(random_seed), type_(type) {}

void BaseIdentity::start(const Communicator& communicator) {
  if (random_seed_ || sha256_ || started_.valid()) return;
  const auto rank = static_cast<std::size_t>(communicator.rank()), size = static_cast<std::size_t>(communicator.size());
  started_ = start_async("the check of the base model", [folder = folder_, rank, size, stop = stop_.get_token()] {
               return ModelFolder::open(folder).file_hashes(rank, size, stop);
             }).share();
}

// Ranks may have come from other tasks: one that knows the hash gives it to the others, and parts that were started
// among other ranks may leave files out.
void BaseIdentity::finish(const Communicator& communicator) {
  const std::vector<std::string> known = communicator.allgather(sha256_.value_or(""));
  const std::string& one = *std::max_element(known.begin(), known.end());
  if (!one.empty()) {
    sha256_ = one;
    return;
  }
  FileHashes hashes;
  agreed_after_long_work(communicator, [&] {
    if (random_seed_)
      sha256_ = sha256_of_random_weights(folder_, *random_seed_, type_);
    else if (started_.valid())
      hashes = started_.get();
  });
  if (sha256_) return;
  hashes = united(hashes, communicator);
  agreed_after_long_work(communicator, [&] {
    const ModelFolder folder = ModelFolder::open(folder_);
    if (hashes.size() == folder.file_names().size()) return;
    hashes = folder.file_hashes(0, 1);
  });
  sha256_ = ModelFolder::sha256_of(hashes);
}

}  // namespace multicard
