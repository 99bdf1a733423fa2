#include "tasks/setup/RunInputs.hpp"

#include "data/shards/ShardNames.hpp"
#include "nn/language/LlamaConfig.hpp"
#include "state/ModelFolder.hpp"
#include "state/PeftAdapter.hpp"
#include "tasks/options/DeckWeights.hpp"

namespace multicard {

void check_inputs(const RunOptions& options) {
  if (options.is_language()) {
    LlamaConfig::read(options.model.path);
    if (!random_weights_seed(options)) ModelFolder::open(options.model.path);
    if (options.model.adapter) PeftAdapter::open(*options.model.adapter);
  }
  for (const std::string& files : options.data.training_files())
    files_of_shards(files);
  if (options.data.test) files_of_shards(*options.data.test);
}

}  // namespace multicard
