#pragma once
/// \file Tasks that arrive while a share runs, on all of its ranks.

#include <functional>
#include <vector>

#include "comm/Communicator.hpp"
#include "comm/StopMonitor.hpp"
#include "share/ArrivalFolder.hpp"
#include "share/ShareScheduler.hpp"

namespace multicard {

/// Rank 0 watches the folder; all ranks add what it finds. Its functions are collective over the world. An entry is in
/// the record on disk before its file is claimed, so that a job that is killed in between does not lose it
/// (ArrivalFolder).
class ShareArrivals {
 public:
  /// The share that takes them.
  struct Owner {
    std::function<void(const ShareTaskOptions&)> add;  ///< collective. \throws on all ranks
    std::function<double()> now;
  };
  /// \param world,options,scheduler must outlive it
  ShareArrivals(const Communicator& world, const ShareOptions& options, ShareScheduler& scheduler, Owner owner);

  void warn_of_missing_folder() const;
  /// Adds those that arrived in earlier launches.
  void add_earlier();
  /// Adds those that have come since.
  void take();
  /// Waits for at most `arrivals.wait_s`. False: nothing more will come. True: something came, or a stop is requested.
  bool wait(StopMonitor& stop);

 private:
  std::vector<ShareArrival> find_and_claim();
  /// Rank 0 knows the entry. A task that cannot be made is one that has failed to come; the others continue.
  void add(const ShareArrival& arrival);
  std::vector<ShareArrival>& known() { return scheduler_.record().arrivals; }

  const Communicator& world_;
  const ShareOptions& options_;
  ShareScheduler& scheduler_;
  Owner owner_;
  ArrivalFolder folder_;
};

}  // namespace multicard
