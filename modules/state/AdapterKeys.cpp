#include "state/AdapterKeys.hpp"

namespace multicard {

namespace {

using enum KeyUse;

constexpr const char* kStart = "how training starts; what changes the base model is refused by init_lora_weights";
constexpr const char* kOtherArithmetic = "another arithmetic than LoRA's";
constexpr const char* kOutside = "adapters of embeddings and of lm_head";

constexpr ForeignKey kConfig[] = {
    {"peft_type", used, "LORA alone is supported"},
    {"r", used, "rank; 8"},
    {"lora_alpha", used, "scale; 8"},
    {"lora_dropout", used, "0; method.dropout takes its place in training"},
    {"use_rslora", used, "whether the scale is divided by the root of the rank"},
    {"target_modules", used, "which layers are adapted"},
    {"exclude_modules", used, "which are not; the tensors tell"},
    {"layers_to_transform", used, "in which blocks; the tensors tell"},
    {"layers_pattern", used, "in which blocks; the tensors tell"},
    {"rank_pattern", used, "ranks of some layers"},
    {"alpha_pattern", used, "scales of some layers"},
    {"modules_to_save", used, "modules that are trained whole"},
    {"ensure_weight_tying", used, "false alone is supported with modules_to_save"},
    {"bias", used, "none alone is supported"},
    {"init_lora_weights", used, "pissa, olora, corda, loftq and lora_ga change the base model and are refused"},
    {"base_model_name_or_path", used, "what the adapter belongs to"},
    {"use_dora", unsupported, kOtherArithmetic},
    {"use_qalora", unsupported, kOtherArithmetic},
    {"use_bdlora", unsupported, kOtherArithmetic},
    {"lora_bias", unsupported, kOtherArithmetic},
    {"alora_invocation_tokens", unsupported, kOtherArithmetic},
    {"arrow_config", unsupported, kOtherArithmetic},
    {"kasa_config", unsupported, kOtherArithmetic},
    {"monteclora_config", unsupported, kOtherArithmetic},
    {"velora_config", unsupported, kOtherArithmetic},
    {"megatron_config", unsupported, kOtherArithmetic},
    {"layer_replication", unsupported, "layers that stand in the model twice"},
    {"target_parameters", unsupported, "adapters of what is no layer"},
    {"trainable_token_indices", unsupported, "single rows of the embeddings"},
    {"fan_in_fan_out", harmless, "PEFT sets it to false for linear layers"},
    {"qalora_group_size", harmless, "of use_qalora"},
    {"corda_config", harmless, kStart},
    {"eva_config", harmless, kStart},
    {"loftq_config", harmless, kStart},
    {"lora_ga_config", harmless, kStart},
    {"megatron_core", harmless, "of megatron_config"},
    {"inference_mode", harmless, "whether PEFT freezes it"},
    {"runtime_config", harmless, "how PEFT computes"},
    {"task_type", harmless, "which class PEFT wraps the model in"},
    {"auto_mapping", harmless, "which class PEFT wraps the model in"},
    {"revision", harmless, "of the base model, whose tensors are compared where it is known"},
    {"peft_version", harmless, "who wrote the file"},
};

constexpr ForeignKey kTensors[] = {
    {"base_model.model.LAYER.lora_A.weight", used, "[rank, in]"},
    {"base_model.model.LAYER.lora_B.weight", used, "[out, rank]"},
    {"base_model.model.LAYER.lora_A.ADAPTER.weight", used, "the same with the adapter's name, of one adapter"},
    {"base_model.model.LAYER.lora_B.ADAPTER.weight", used, "the same with the adapter's name, of one adapter"},
    {"base_model.model.MODULE.weight", used, "of modules_to_save"},
    {"base_model.model.MODULE.modules_to_save.ADAPTER.weight", used, "the same with the adapter's name"},
    {"base_model.model.LAYER.lora_B.bias", unsupported, "of lora_bias"},
    {"base_model.model.LAYER.lora_magnitude_vector", unsupported, "of use_dora"},
    {"base_model.model.MODULE.lora_embedding_A", unsupported, kOutside},
    {"base_model.model.MODULE.lora_embedding_B", unsupported, kOutside},
    {"base_model.model.MODULE.token_adapter.trainable_tokens_delta", unsupported, "of trainable_token_indices"},
    {"any other", unsupported, "refused by name"},
};

}  // namespace

ForeignFormat adapter_format() {
  return {"adapter", "adapter_config.json", {kConfig}};
}

std::vector<ForeignFormat> adapter_formats() {
  return {adapter_format(), {"adapter-tensors", "Tensors of adapter_model.safetensors", {kTensors}}};
}

}  // namespace multicard
