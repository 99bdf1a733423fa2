#include "text/prompts/PromptFormat.hpp"

namespace multicard {

namespace {

PromptFormat chatml(const std::string& name, const std::string& default_system, const std::vector<std::string>& roles) {
  PromptFormat format{name, "", {}};
  for (const std::string& role : roles)
    format.roles[role] = {"<|im_start|>" + role + "\n", "<|im_end|>", "\n"};
  format.default_system = default_system;
  return format;
}

RoleFormat llama3_role(const std::string& header) {
  return {"<|start_header_id|>" + header + "<|end_header_id|>\n\n", "<|eot_id|>", ""};
}

PromptFormat llama3(const std::string& name, const std::string& system_prefix) {
  PromptFormat format{name, "<|begin_of_text|>", {}};
  for (const char* role : {"system", "user", "assistant"})
    format.roles[role] = llama3_role(role);
  format.roles["tool"] = llama3_role("ipython");
  format.system_prefix = system_prefix;
  format.trims = true;
  return format;
}

PromptFormat alpaca() {
  PromptFormat format{"alpaca", "", {}};
  format.roles = {{"system", {}}, {"user", {"### Instruction:\n", "", ""}}, {"assistant", {"### Response:\n", "", ""}}};
  format.separator = "\n\n";
  const std::string task = "Below is an instruction that describes a task";
  const std::string wish = "Write a response that appropriately completes the request.";
  format.default_system = task + ". " + wish;
  format.default_system_with_input = task + ", paired with an input that provides further context. " + wish;
  format.input_intro = "\n\n### Input:\n";
  format.needs_eos = true;
  return format;
}

PromptFormat plain() {
  PromptFormat format{"plain", "", {{"system", {}}, {"user", {}}, {"assistant", {}}}};
  format.separator = "\n";
  format.needs_eos = true;
  return format;
}

}  // namespace

const std::vector<PromptFormat>& prompt_formats() {
  static const std::vector<PromptFormat> formats{
      alpaca(), plain(), llama3("llama3", ""),
      // The dates are those that the template itself gives when nobody passes one.
      llama3("llama3.1", "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"),
      chatml("chatml", "", {"system", "user", "assistant", "tool"}),
      chatml("smollm2", "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
             {"system", "user", "assistant", "tool"}),
      chatml("qwen2", "You are a helpful assistant.", {"system", "user", "assistant", "tool"}),
      chatml("qwen2.5", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
             {"system", "user", "assistant"})};
  return formats;
}

}  // namespace multicard
