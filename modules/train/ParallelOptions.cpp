#include "train/ParallelOptions.hpp"

namespace multicard {

ParallelOptions read_parallel_options(Section& section, HasBatchNorm batch_norm) {
  ParallelOptions parallel;
  parallel.strategy = section.choice("strategy", parallel.strategy, kStrategyWords);
  static_cast<ExchangeOptions&>(parallel) = read_exchange_options(section);
  parallel.shard = section.choice("shard", parallel.shard, kShardWords);
  parallel.shard_group = section.automatic<std::int64_t>("shard_group", 1, 1'000'000);
  if (batch_norm == HasBatchNorm::yes)
    parallel.sync_batch_norm = section.get("sync_batch_norm", parallel.sync_batch_norm);
  parallel.share_gpu = section.get("share_gpu", parallel.share_gpu == ShareGpu::yes) ? ShareGpu::yes : ShareGpu::no;
  return parallel;
}

DeckKeys parallel_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"parallel.strategy", any, speed, "strategy", "data parallelism: who reads, reduces gradients and updates"},
      {"parallel.shard", any, speed, "sharding",
       "what is sharded across ranks instead of replicated; `auto`: the first of none, optimizer, hybrid and full "
       "whose "
       "predicted memory fits"},
      {"parallel.shard_group", any, speed, "shard group",
       "the ranks that share one copy; `auto`: all, and with `shard: hybrid` those of a node"},
      {"parallel.sync_batch_norm",
       image,
       speed,
       "sync batch norm",
       "BatchNorm statistics over all ranks",
       {.on_resume = OnResume::same}},
  };
}

}  // namespace multicard
