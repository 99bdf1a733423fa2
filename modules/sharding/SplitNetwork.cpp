#include "sharding/SplitNetwork.hpp"

#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

namespace multicard {

namespace {

/// A tensor like `tensor` that has its memory instead of it.
at::Tensor moved_out(const at::Tensor& tensor) {
  c10::StorageImpl* const from = tensor.storage().unsafeGetStorageImpl();
  const std::size_t bytes = from->nbytes();
  const c10::Storage memory(c10::Storage::use_byte_size_t(), bytes,
                            from->set_data_ptr(at::DataPtr(nullptr, from->device())), /*allocator=*/nullptr,
                            /*resizable=*/false);
  return at::empty({0}, tensor.options().requires_grad(false))
      .set_(memory, tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

}  // namespace

// Memory changes hands and is freed block by block: a rank never has the network twice. Nothing is allocated by a rank
// alone before what all allocate together.
std::shared_ptr<ShardedBlocks> split_network(Network& network, const ShardRanks& ranks,
                                             ShardedBlocks::Leftovers leftovers) {
  const at::NoGradGuard no_grad;
  const std::vector<std::vector<at::Tensor>> weights = network.block_weights();
  std::vector<std::vector<at::Tensor>> values;
  std::vector<SplitBlock> memories;
  for (const std::vector<at::Tensor>& block : weights) {
    memories.emplace_back(block);
    values.emplace_back();
    for (const at::Tensor& weight : block)
      values.back().push_back(moved_out(weight));
  }
  auto blocks = std::make_shared<ShardedBlocks>(std::move(memories), ranks, leftovers);
  for (std::size_t block = 0; block < weights.size(); ++block) {
    blocks->fill(static_cast<std::int64_t>(block), [&] {
      for (std::size_t i = 0; i < values[block].size(); ++i)
        at::Tensor(weights[block][i]).copy_(values[block][i]);
    });
    values[block].clear();
  }
  blocks->set_parameters(weights);
  network.set_block_hooks(blocks);
  return blocks;
}

}  // namespace multicard
