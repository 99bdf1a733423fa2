#include "tasks/setup/RunInputs.hpp"

#include "io/Glob.hpp"
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
    expand_glob(files);
  if (options.data.test) expand_glob(*options.data.test);
}

}  // namespace multicard
