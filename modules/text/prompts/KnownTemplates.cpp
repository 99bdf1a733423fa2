#include "text/prompts/KnownTemplates.hpp"

namespace multicard {

namespace {

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

const std::vector<KnownTemplate>& known_templates() {
  static const std::vector<KnownTemplate> templates{
      {"mistral", "<s>", "</s>", kMistral},
      {"llama2", "<s>", "</s>", kLlama2},
      {"zephyr", "", "</s>", kZephyr},
      {"gemma", "<bos>", "<eos>", kGemma},
      {"phi3", "", "<|endoftext|>", kPhi3},
      {"phi4", "", "<|im_end|>", kPhi4},
      {"deepseek", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", kDeepseek},
  };
  return templates;
}

}  // namespace multicard
