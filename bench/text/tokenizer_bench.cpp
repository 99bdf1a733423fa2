// MB/s of text that one core encodes, and of the ids decoded again; each number is the median over the repeats.
//   tokenizer_bench TOKENIZER TEXT [REPEATS]      TOKENIZER: folder or file; TEXT: a file
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "text/tokenizer/Tokenizer.hpp"

using namespace multicard;

namespace {

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median_of(int repeats, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i)
    seconds.push_back(seconds_of(work));
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[static_cast<std::size_t>(repeats / 2)];
}

void measure(const std::string& path, const std::string& text, int repeats) {
  std::shared_ptr<const Tokenizer> tokenizer;
  const double load = seconds_of([&] { tokenizer = Tokenizer::load(path); });
  std::vector<TokenId> ids;
  std::string decoded;
  const double encode = median_of(repeats, [&] { ids = tokenizer->encode(text, SpecialTokens::leave_out); });
  const double decode = median_of(repeats, [&] { decoded = tokenizer->decode(ids, DecodeSpecial::keep); });
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  std::printf("%-40s load %.3f s, encode %.1f MB/s, decode %.1f MB/s, %.2f bytes a token\n", path.c_str(), load,
              megabytes / encode, megabytes / decode,
              static_cast<double>(text.size()) / static_cast<double>(ids.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: tokenizer_bench TOKENIZER TEXT [REPEATS]\n");
    return 2;
  }
  try {
    measure(argv[1], read_file(argv[2]), argc > 3 ? std::max(1, std::atoi(argv[3])) : 5);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
