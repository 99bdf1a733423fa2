#include "text/prompts/KnownTemplates.hpp"

namespace multicard {

namespace {

/// The prompts of Stanford Alpaca. `default_system` comes first where a conversation has no system message.
constexpr const char* kAlpaca = R"jinja(
{%- set has_system = messages and messages[0].role == 'system' %}
{%- if not has_system %}
    {{- default_system }}
{%- endif %}
{%- for message in messages %}
    {{- '\n\n' if not (loop.first and has_system) }}
    {%- if message.role == 'system' %}
        {{- message.content }}
    {%- elif message.role == 'user' %}
        {{- '### Instruction:\n' ~ message.content }}
    {%- elif message.role == 'assistant' %}
        {{- '### Response:\n' }}
        {%- generation %}{{ message.content }}{% endgeneration %}
    {%- else %}
        {{- raise_exception('it has no role ' ~ message.role) }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '\n\n### Response:\n' }}
{%- endif %})jinja";

constexpr const char* kPlain = R"jinja(
{%- for message in messages %}
    {{- '\n' if not loop.first }}
    {%- if message.role == 'assistant' %}
        {%- generation %}{{ message.content }}{% endgeneration %}
    {%- elif message.role in ['system', 'user'] %}
        {{- message.content }}
    {%- else %}
        {{- raise_exception('it has no role ' ~ message.role) }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt and messages %}
    {{- '\n' }}
{%- endif %})jinja";

/// With `preamble` (Llama 3.1) a system turn that begins with it always comes first.
constexpr const char* kLlama3 = R"jinja(
{{- '<|begin_of_text|>' }}
{%- set loop_messages = messages %}
{%- if preamble %}
    {{- '<|start_header_id|>system<|end_header_id|>\n\n' ~ preamble }}
    {%- if messages and messages[0].role == 'system' %}
        {{- messages[0].content | trim }}
        {%- set loop_messages = messages[1:] %}
    {%- endif %}
    {{- '<|eot_id|>' }}
{%- endif %}
{%- for message in loop_messages %}
    {%- if message.role == 'assistant' %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
        {%- generation %}{{ message.content | trim ~ '<|eot_id|>' }}{% endgeneration %}
    {%- elif message.role in ['system', 'user', 'tool', 'ipython'] %}
        {%- set role = 'ipython' if message.role == 'tool' else message.role %}
        {{- '<|start_header_id|>' ~ role ~ '<|end_header_id|>\n\n' ~ message.content | trim ~ '<|eot_id|>' }}
    {%- else %}
        {{- raise_exception('it has no role ' ~ message.role) }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})jinja";

/// `default_system` comes first where a conversation has no system message; `tool_role` is 'tool' where that is known.
constexpr const char* kChatml = R"jinja(
{%- if default_system and not (messages and messages[0].role == 'system') %}
    {{- '<|im_start|>system\n' ~ default_system ~ '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '<|im_start|>assistant\n' }}
        {%- generation %}{{ message.content ~ '<|im_end|>' }}{% endgeneration %}
        {{- '\n' }}
    {%- elif message.role in ['system', 'user', tool_role] %}
        {{- '<|im_start|>' ~ message.role ~ '\n' ~ message.content ~ '<|im_end|>\n' }}
    {%- else %}
        {{- raise_exception('it has no role ' ~ message.role) }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %})jinja";

/// [INST] around questions, which must alternate with answers; a system message stands in front of the first question.
constexpr const char* kMistral = R"jinja(
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] + '\n\n' %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set system_message = '' %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('After the optional system message, conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {{- '[INST] ' + (system_message if loop.first else '') + message['content'] + ' [/INST]' }}
    {%- elif message['role'] == 'assistant' %}
        {{- ' ' + message['content'] + eos_token }}
    {%- else %}
        {{- raise_exception('Only user and assistant roles are supported, with the exception of an initial optional system message!') }}
    {%- endif %}
{%- endfor %})jinja";

// Each question begins with a BOS, because Llama 2 was trained on pairs of a question and an answer. A system message
// is part of the first question.
constexpr const char* kLlama2 = R"jinja(
{%- if messages[0]['role'] == 'system' %}
    {%- set loop_messages = messages[1:] %}
    {%- set system_message = messages[0]['content'] %}
{%- else %}
    {%- set loop_messages = messages %}
    {%- set system_message = false %}
{%- endif %}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- if loop.index0 == 0 and system_message != false %}
        {%- set content = '<<SYS>>\n' + system_message + '\n<</SYS>>\n\n' + message['content'] %}
    {%- else %}
        {%- set content = message['content'] %}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {{- bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
    {%- elif message['role'] == 'assistant' %}
        {{- ' ' + content.strip() + ' ' + eos_token }}
    {%- endif %}
{%- endfor %})jinja";

constexpr const char* kZephyr = R"jinja(
{%- for message in messages %}
    {%- if message['role'] in ['user', 'system', 'assistant'] %}
        {{- '<|' + message['role'] + '|>\n' + message['content'] + eos_token + '\n' }}
    {%- else %}
        {{- raise_exception('Only the roles system, user and assistant are supported') }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\n' }}
{%- endif %})jinja";

// Gemma has no system turn, and its template raises an exception rather than drop such a message.
constexpr const char* kGemma = R"jinja(
{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {{- raise_exception('System role not supported') }}
{%- endif %}
{%- for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] %}
    {{- '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\n' }}
{%- endif %})jinja";

// <|end|> ends each message. The EOS ends the whole conversation and is only there when nothing is to be generated.
constexpr const char* kPhi3 = R"jinja(
{%- for message in messages %}
    {%- if message['role'] in ['system', 'user', 'assistant'] %}
        {{- '<|' + message['role'] + '|>\n' + message['content'] + '<|end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\n' }}
{%- else %}
    {{- eos_token }}
{%- endif %})jinja";

constexpr const char* kPhi4 = R"jinja(
{%- for message in messages %}
    {%- if message['role'] in ['system', 'user', 'assistant'] %}
        {{- '<|im_start|>' + message['role'] + '<|im_sep|>' + message['content'] + '<|im_end|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant<|im_sep|>' }}
{%- endif %})jinja";

/// DeepSeek V2.5 and V3 without tools; reasoning of earlier answers is left out, as R1 wants it.
constexpr const char* kDeepseek = R"jinja(
{{- bos_token }}
{%- for message in messages %}
    {%- if message['role'] == 'system' %}
        {{- message['content'] }}
    {%- elif message['role'] == 'user' %}
        {{- '<｜User｜>' + message['content'] }}
    {%- elif message['role'] == 'assistant' %}
        {{- '<｜Assistant｜>' + message['content'].split('</think>')[-1] + '<｜end▁of▁sentence｜>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<｜Assistant｜>' }}
{%- endif %})jinja";

}  // namespace

// The first that renders all probes alike gives a folder's template its name, so that of two with equal texts the order
// here decides. Those by name alone take no part in that.
const std::vector<KnownTemplate>& known_templates() {
  using enum KnownTemplate::Match;
  // The dates are those that Llama 3.1's own template writes when its caller passes none.
  const std::string task = "Below is an instruction that describes a task",
                    request = ". Write a response that appropriately completes the request.",
                    dates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n",
                    smollm = "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
                    qwen2 = "You are a helpful assistant.",
                    qwen2_5 = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
  static const std::vector<KnownTemplate> templates{
      {.name = "alpaca",
       .match = by_name,
       .source = kAlpaca,
       .variables = {{"default_system", task + request}},
       .ends_with_eos = true,
       .before_input = "\n\n### Input:\n",
       .system_with_input = task + ", paired with an input that provides further context" + request},
      {.name = "plain", .match = by_name, .source = kPlain, .ends_with_eos = true},
      {"llama3", by_text, kLlama3},
      {"llama3.1", by_text, kLlama3, {{"preamble", dates}}},
      {"chatml", by_text, kChatml, {{"tool_role", "tool"}}},
      {"smollm2", by_text, kChatml, {{"tool_role", "tool"}, {"default_system", smollm}}},
      {"qwen2", by_text, kChatml, {{"tool_role", "tool"}, {"default_system", qwen2}}},
      {"qwen2.5", by_text, kChatml, {{"default_system", qwen2_5}}},
      {"mistral", by_name, kMistral, {{"bos_token", "<s>"}, {"eos_token", "</s>"}}},
      {"llama2", by_name, kLlama2, {{"bos_token", "<s>"}, {"eos_token", "</s>"}}},
      {"zephyr", by_name, kZephyr, {{"eos_token", "</s>"}}},
      {"gemma", by_name, kGemma, {{"bos_token", "<bos>"}, {"eos_token", "<eos>"}}},
      {"phi3", by_name, kPhi3, {{"eos_token", "<|endoftext|>"}}},
      {"phi4", by_name, kPhi4, {{"eos_token", "<|im_end|>"}}},
      {"deepseek",
       by_name,
       kDeepseek,
       {{"bos_token", "<｜begin▁of▁sentence｜>"}, {"eos_token", "<｜end▁of▁sentence｜>"}}},
  };
  return templates;
}

}  // namespace multicard
