#include "cli/Completion.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

namespace {

/// "prepare images"; empty for the program itself.
std::string path_in_program(const CommandHelp& command) {
  const std::size_t space = command.path.find(' ');
  return space == std::string::npos ? "" : command.path.substr(space + 1);
}

std::string function_name(const CommandHelp& program) {
  return "_" + join(split(program.path, '-'), "_");
}

bool takes(const CommandHelp& command, const std::string& value) {
  return std::any_of(command.words.begin(), command.words.end(),
                     [&](const OptionHelp& word) { return word.value == value; });
}

/// A case of a shell for each command, with the words that `of` finds of it.
template <class Of>
std::string cases(const CommandHelp& program, const Of& of) {
  std::string out;
  for (const CommandHelp* command : all_commands(program))
    if (const std::string words = join(of(*command), " "); !words.empty())
      out += fmt::format("    '{}') echo \"{}\" ;;\n", path_in_program(*command), words);
  return out;
}

std::vector<std::string> names_of_commands(const CommandHelp& command) {
  std::vector<std::string> names;
  for (const CommandHelp& sub : command.commands)
    names.push_back(sub.name());
  return names;
}

std::vector<std::string> names_of_options(const CommandHelp& command) {
  std::vector<std::string> names;
  for (const OptionHelp& option : command.options)
    for (const std::string& name : option.names)
      if (name.starts_with("--")) names.push_back(name);
  return names;
}

/// Options that a value follows.
std::vector<std::string> options_with_value(const CommandHelp& command) {
  std::vector<std::string> names;
  for (const OptionHelp& option : command.options)
    if (!option.value.empty() && !option.is_value_optional)
      names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// "COMMAND:OPTION") cases of the words that options take.
std::string option_cases(const CommandHelp& program) {
  std::string out;
  for (const CommandHelp* command : all_commands(program))
    for (const OptionHelp& option : command->options)
      for (const std::string& name : option.names)
        if (!option.words.empty())
          out += fmt::format("    '{}:{}') echo \"{}\" ;;\n", path_in_program(*command), name, join(option.words, " "));
  return out;
}

std::string key_cases(const std::vector<KeyCompletion>& keys) {
  std::string out;
  for (const KeyCompletion& key : keys)
    if (!key.words.empty()) out += fmt::format("    {}) echo \"{}\" ;;\n", key.key, join(key.words, " "));
  return out;
}

std::string key_words(const std::vector<KeyCompletion>& keys) {
  std::vector<std::string> words;
  words.reserve(keys.size());
  for (const KeyCompletion& key : keys)
    words.push_back(key.key + "=");
  return join(words, " ");
}

/// The tables, as functions that bash and zsh understand alike.
std::string tables(const CommandHelp& program, const std::vector<KeyCompletion>& keys) {
  const auto function = [&](const char* name, const std::string& on, const std::string& body) {
    return fmt::format("{}_{}() {{\n  case \"{}\" in\n{}    *) ;;\n  esac\n}}\n", function_name(program), name, on,
                       body);
  };
  std::vector<std::string> with_decks, with_keys;
  for (const CommandHelp* command : all_commands(program)) {
    if (takes(*command, kDeckValue)) with_decks.push_back("'" + path_in_program(*command) + "'");
    if (takes(*command, kKeyValue)) with_keys.push_back("'" + path_in_program(*command) + "'");
  }
  const auto line = [](const std::vector<std::string>& paths, const std::string& words) {
    return paths.empty() ? "" : fmt::format("    {}) echo \"{}\" ;;\n", join(paths, " | "), words);
  };
  return function("commands", "$1", cases(program, names_of_commands)) +
         function("options", "$1", cases(program, names_of_options)) +
         function("valued", "$1", cases(program, options_with_value)) +
         function("values", "$1:$2", option_cases(program)) + function("decks", "$1", line(with_decks, "yes")) +
         function("keys", "$1", line(with_keys, key_words(keys))) + function("key_values", "$1", key_cases(keys));
}

// The function of bash: it splits the line itself, because bash breaks words at "=", and gives back what follows the
// last "=" for the same reason.
constexpr std::string_view kBash = R"(
@() {
  local line=${COMP_LINE:0:COMP_POINT} current='' path='' before='' word offered='' i
  local -a words
  local -i places=0
  read -ra words <<<"$line"
  if [[ $line != *[[:space:]] ]]; then
    current=${words[-1]}
    unset 'words[-1]'
  fi
  for ((i = 1; i < ${#words[@]}; ++i)); do
    word=${words[i]}
    if [[ $before != '' && " $(@_valued "$path") " == *" $before "* ]]; then
      before=''
      continue
    fi
    before=$word
    if [[ $word == -* ]]; then continue; fi
    if [[ $places == 0 && " $(@_commands "$path") " == *" $word "* ]]; then
      path=${path:+$path }$word
    else
      ((++places))
    fi
  done
  local prefix=''
  if [[ $current == *=* && $COMP_WORDBREAKS == *=* ]]; then prefix=${current%=*}=; fi
  compopt -o default 2>/dev/null
  if [[ $before != '' && " $(@_valued "$path") " == *" $before "* ]]; then
    offered=$(@_values "$path" "$before")
  elif [[ $current == --*=* ]]; then
    offered=$(@_values "$path" "${current%%=*}")
    offered=${offered:+${current%%=*}=${offered// / ${current%%=*}=}}
  elif [[ $current == -* ]]; then
    offered=$(@_options "$path")
  elif [[ $places == 0 && -n $(@_commands "$path") ]]; then
    offered=$(@_commands "$path")
  elif [[ $places == 0 && -n $(@_decks "$path") ]]; then
    mapfile -t COMPREPLY < <(
      compgen -f -X '!*.yaml' -- "$current"
      compgen -f -X '!*.yml' -- "$current"
      compgen -d -S / -- "$current"
    )
    compopt -o filenames 2>/dev/null
    return
  elif [[ -n $(@_keys "$path") && $current == *=* ]]; then
    offered=$(@_key_values "${current%%=*}")
    offered=${offered:+${current%%=*}=${offered// / ${current%%=*}=}}
  elif [[ -n $(@_keys "$path") ]]; then
    offered=$(@_keys "$path")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$current")
  COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F @ %
)";

constexpr std::string_view kZsh = R"(
@() {
  local current=$words[CURRENT] path_='' before='' word
  local -a offered
  local -i places=0
  for word in ${words[2,CURRENT-1]}; do
    if [[ -n $before && " $(@_valued "$path_") " == *" $before "* ]]; then
      before=''
      continue
    fi
    before=$word
    if [[ $word == -* ]]; then continue; fi
    if (( places == 0 )) && [[ " $(@_commands "$path_") " == *" $word "* ]]; then
      path_=${path_:+$path_ }$word
    else
      (( ++places ))
    fi
  done
  if [[ -n $before && " $(@_valued "$path_") " == *" $before "* ]]; then
    offered=(${=$(@_values "$path_" "$before")})
    if (( $#offered )); then compadd -a offered; else _files; fi
  elif [[ $current == --*=* ]]; then
    offered=(${=$(@_values "$path_" "${current%%=*}")})
    compset -P '*='
    compadd -a offered
  elif [[ $current == -* ]]; then
    offered=(${=$(@_options "$path_")})
    compadd -a offered
  elif (( places == 0 )) && [[ -n $(@_commands "$path_") ]]; then
    offered=(${=$(@_commands "$path_")})
    compadd -a offered
    _files
  elif (( places == 0 )) && [[ -n $(@_decks "$path_") ]]; then
    _files -g '*.y(a|)ml'
  elif [[ -n $(@_keys "$path_") && $current == *=* ]]; then
    offered=(${=$(@_key_values "${current%%=*}")})
    compset -P '*='
    if (( $#offered )); then compadd -a offered; else _files; fi
  elif [[ -n $(@_keys "$path_") ]]; then
    offered=(${=$(@_keys "$path_")})
    compadd -S '' -a offered
  else
    _files
  fi
}
@ "$@"
)";

std::string with_names(std::string_view code, const CommandHelp& program) {
  std::string out;
  for (std::size_t i = 0; i < code.size(); ++i) {
    // "@" also stands in "${words[@]}" and "$@".
    const bool is_array = i > 0 && (code[i - 1] == '[' || code[i - 1] == '$');
    if (code[i] == '@' && !is_array)
      out += function_name(program);
    else if (code.substr(i) == "%\n")
      out += program.path;
    else
      out += code[i];
  }
  return out;
}

std::string fish_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish(const CommandHelp& program, const std::vector<KeyCompletion>& keys) {
  std::string out;
  const std::string start = fmt::format("complete -c {}", program.path);
  for (const CommandHelp* command : all_commands(program)) {
    const bool is_program = command == &program;
    const std::string where =
        fish_word(is_program ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + command->name());
    for (const CommandHelp& sub : command->commands)
      out += fmt::format("{} -n {} -a {} -d {}\n", start, where, sub.name(), fish_word(sub.text));
    for (const OptionHelp& option : command->options) {
      std::string line = fmt::format("{} -n {}", start, where);
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty() && !option.is_value_optional) line += " -r";
      if (!option.words.empty()) line += " -f -a " + fish_word(join(option.words, " "));
      out += line + " -d " + fish_word(option.text) + "\n";
    }
    if (!takes(*command, kKeyValue)) continue;
    for (const KeyCompletion& key : keys) {
      std::vector<std::string> words;
      for (const std::string& word : key.words)
        words.push_back(key.key + "=" + word);
      if (words.empty()) words.push_back(key.key + "=");
      out += fmt::format("{} -n {} -a {} -d {}\n", start, where, fish_word(join(words, " ")), fish_word(key.text));
    }
  }
  return out;
}

}  // namespace

std::optional<Shell> shell_named(const std::string& name) {
  if (name == "bash") return Shell::bash;
  if (name == "zsh") return Shell::zsh;
  if (name == "fish") return Shell::fish;
  return std::nullopt;
}

std::string completion_script(Shell shell, const CommandHelp& program, const std::vector<KeyCompletion>& keys) {
  const std::string by = fmt::format("written by `{} help --completion ", program.path);
  switch (shell) {
    case Shell::bash:
      return fmt::format("# Completion of {} in bash, {}bash`.\n{}{}", program.path, by, tables(program, keys),
                         with_names(kBash, program));
    case Shell::zsh:
      return fmt::format("#compdef {}\n# {}zsh`.\n{}{}", program.path, by, tables(program, keys),
                         with_names(kZsh, program));
    case Shell::fish:
      return fmt::format("# Completion of {} in fish, {}fish`.\n{}", program.path, by, fish(program, keys));
  }
  return {};
}

}  // namespace multicard
