#include "text/regex/Regex.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/Error.hpp"
#include "text/regex/RegexSet.hpp"
#include "text/regex/RegexTranslation.hpp"

namespace multicard {

namespace {

/// How an error names a pattern.
std::string quoted(const RegexUse& use, const std::string& pattern) {
  constexpr std::size_t kMostShown = 200;
  const std::string& shown = use.shown.empty() ? pattern : use.shown;
  return fmt::format("{} {}{}", use.what, shown.substr(0, kMostShown), shown.size() > kMostShown ? "..." : "");
}

/// What a thread needs for matching, made once.
struct Scratch {
  Scratch() {
    constexpr std::size_t kFirstStack = 64 << 10, kLargestStack = 64 << 20;
    // Without a stack of its own, machine code uses 32 KiB of the thread's, too little for a pattern that backtracks
    // over a long run. Only the whole match is asked for, hence one pair of offsets.
    stack = pcre2_jit_stack_create(kFirstStack, kLargestStack, nullptr);
    data = pcre2_match_data_create(1, nullptr);
    context = pcre2_match_context_create(nullptr);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Scratch() {
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    pcre2_jit_stack_free(stack);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  pcre2_jit_stack* stack;
  pcre2_match_data* data;
  pcre2_match_context* context;
};

std::string error_text(int code) {
  std::array<unsigned char, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// An empty string_view may hold a null pointer, which PCRE2 takes for an error of its caller, in older versions even
// with the length 0.
PCRE2_SPTR units(std::string_view text) {
  static constexpr unsigned char kNothing = 0;
  return text.data() == nullptr ? &kNothing : reinterpret_cast<PCRE2_SPTR>(text.data());
}

/// Which blocks of 64 characters hold a disputed one: the last byte of UTF-8 selects a character of such a block.
std::vector<bool> disputed_blocks() {
  std::vector<bool> blocks((CodePointSet::kLast >> 6) + 1);
  for (const CodePointSet::Range& range : disputed_characters().ranges())
    for (char32_t block = range.first >> 6; block <= range.last >> 6; ++block)
      blocks[block] = true;
  return blocks;
}

// This runs over every text that is matched. ASCII costs one comparison, and of other characters the last byte is read
// only in blocks that hold a disputed one. The text is valid UTF-8: the bytes that a lead announces are there.
bool has_disputed_character(std::string_view text) {
  static const std::vector<bool> blocks = disputed_blocks();
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t lead = byte(at);
    if (lead < 0x80) {
      ++at;
      continue;
    }
    std::uint32_t block = 0;
    if (lead < 0xE0) {
      block = lead & 0x1F;
    } else if (lead < 0xF0) {
      block = (lead & 0xF) << 6 | (byte(at + 1) & 0x3F);
    } else {
      block = (lead & 7) << 12 | (byte(at + 1) & 0x3F) << 6 | (byte(at + 2) & 0x3F);
    }
    if (!blocks[block]) {
      at += lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    } else if (disputed_characters().contains(next_character(text, at))) {
      return true;
    }
  }
  return false;
}

}  // namespace

/// What PCRE2 makes of a pattern.
struct Regex::Program {
  Program(const std::string& pattern, Extent extent, const std::string& refusal) {
    // As in Oniguruma's Ruby syntax, ^ and $ hold at every line, and LF alone ends one. PCRE2_UCP matters to whole
    // patterns only, which users write: a translated one has no \w, \b or [[:alpha:]] left.
    const std::uint32_t ends = extent == Extent::whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0;
    pcre2_compile_context* const context = pcre2_compile_context_create(nullptr);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int error = 0;
    PCRE2_SIZE at = 0;
    code = pcre2_compile(units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | ends, &error, &at,
                         context);
    pcre2_compile_context_free(context);
    if (!code) throw DataError(refusal, error_text(error));
    is_compiled_to_machine_code = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
  }
  ~Program() { pcre2_code_free(code); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pcre2_code* code = nullptr;
  bool is_compiled_to_machine_code = false;
};

struct Regex::Code {
  std::string pattern;
  RegexUse use;
  std::unique_ptr<const Program> usual;      ///< for texts without disputed characters
  std::unique_ptr<const Program> spelt_out;  ///< for all; null where it would be the same
};

Regex::Regex(const std::string& pattern) : Regex(pattern, {}, Extent::part) {}

Regex Regex::whole(const std::string& pattern, RegexUse use) {
  return {pattern, std::move(use), Extent::whole};
}

// Real patterns have some hundreds of bytes. A pattern for whole texts is already written for PCRE2 and is compiled as
// it stands. Any other becomes two programs: PCRE2's own categories are short and fast, but right only for texts in
// which its Unicode version and the library's agree.
Regex::Regex(const std::string& pattern, RegexUse use, Extent extent) {
  constexpr std::size_t kLongest = 64 << 10;
  const std::string refusal = quoted(use, pattern) + " cannot be used";
  if (pattern.size() > kLongest) throw DataError(refusal, "it is longer than 64 KiB");
  auto code = std::make_shared<Code>();
  if (extent == Extent::whole) {
    code->usual = std::make_unique<const Program>(pattern, extent, refusal);
  } else {
    const std::string usual = translated_regex(pattern, refusal, disputed_characters());
    const std::string spelt_out = translated_regex(pattern, refusal, {});
    code->usual = std::make_unique<const Program>(usual, extent, refusal);
    if (spelt_out != usual) code->spelt_out = std::make_unique<const Program>(spelt_out, extent, refusal);
  }
  code->pattern = pattern;
  code->use = std::move(use);
  code_ = std::move(code);
}

Regex Regex::literal(std::string_view text) {
  std::string pattern;
  for (const char character : text) {
    const bool is_ascii = static_cast<unsigned char>(character) < 0x80;
    // The cursor that reads the pattern takes 0 for its end.
    if (character == '\0') {
      pattern += "\\x{0}";
      continue;
    }
    if (is_ascii && !std::isalnum(static_cast<unsigned char>(character))) pattern += '\\';
    pattern += character;
  }
  return Regex(pattern);
}

const Regex::Program& Regex::program_for(std::string_view text) const {
  return code_->spelt_out && has_disputed_character(text) ? *code_->spelt_out : *code_->usual;
}

std::optional<Regex::Match> Regex::find(std::string_view text, std::size_t from) const {
  return find(program_for(text), text, from);
}

// pcre2_jit_match() checks none of its arguments, the text's UTF-8 included. Where even the large stack does not
// suffice the interpreter repeats the search: it is slower and keeps its state on the heap. Both obey the match limit,
// although they count differently.
std::optional<Regex::Match> Regex::find(const Program& program, std::string_view text, std::size_t from) const {
  static thread_local Scratch scratch;
  // In proportion to the text, so that long runs of spaces are fine and a hostile pattern still comes to an end.
  const std::uint64_t limit = code_->use.num_steps + 100 * (text.size() - from);
  pcre2_set_match_limit(scratch.context, static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, ~std::uint32_t{0})));
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (program.is_compiled_to_machine_code)
    result = pcre2_jit_match(program.code, units(text), text.size(), from, 0, scratch.data, scratch.context);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT)
    result = pcre2_match(program.code, units(text), text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, scratch.data,
                         scratch.context);
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) throw DataError(quoted(code_->use, code_->pattern) + " exceeds the match limit", error_text(result));
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(scratch.data);
  return Match{offsets[0], offsets[1]};
}

}  // namespace multicard
