// adapter_config.json of a PEFT adapter.
#include "state/AdapterConfig.hpp"

#include "fuzz/Target.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  const AdapterConfig config = parse_adapter_config(std::string(input), "adapter_config.json");
  const std::string text = adapter_config_json(
      with_resolved_targets(config, {"model.layers.0.self_attn.q_proj", "model.layers.0.mlp.up_proj"}));
  const AdapterConfig again = parse_adapter_config(text, "adapter_config.json");
  require(again.settings.rank == config.settings.rank && again.settings.alpha == config.settings.alpha &&
              again.settings.dropout == config.settings.dropout && again.settings.rslora == config.settings.rslora &&
              again.base_model == config.base_model,
          "a configuration that is written is read as another one");
}

}  // namespace multicard::fuzz
