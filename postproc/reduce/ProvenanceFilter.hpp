#pragma once
/// \file Takes addresses, home folders and secrets out of what reports publish.

#include <map>
#include <string>

#include "postproc/reduce/Source.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

enum class Privacy {
  filtered,  ///< for publication
  full       ///< as the results file has it
};

/// Whether a key, or the last part of one, names a secret: HF_TOKEN, hub.token, aws_secret_access_key, --password. Keys
/// of language models are none: max_tokens, tokenizer.
bool names_secret(const std::string& key);

/// Replaces IP addresses by "[address]", home folders by "~" and secrets by "[hidden]". Different ones stay
/// different: the second ones are "[address 2]", "~2" and "[hidden 2]". So one filter must see all that a report has.
class ProvenanceFilter {
 public:
  explicit ProvenanceFilter(Privacy privacy = Privacy::filtered);

  /// Home folders are those below /home (also /nfs/home) and /Users, /root, and $HOME of this process. Secrets are
  /// tokens by their prefixes (hf_, ghp_, AKIA, …), what stands after a key that names_secret(), and user and password
  /// in URLs.
  std::string filtered(const std::string& text);
  /// The same of a text with versions, which look like addresses: 1.14.4.3.
  std::string filtered_version(const std::string& text);

  Source filtered(Source source);
  /// Its text attributes, the deck among them, and its error.
  RunData filtered(RunData run);

 private:
  using Aliases = std::map<std::string, std::string>;

  std::string without_homes(const std::string& text);
  std::string without_addresses(const std::string& text);
  std::string hidden(const std::string& secret);
  void filter(std::map<std::string, std::string>& values);

  Privacy privacy_;
  std::string home_;  ///< of this process; empty: unknown, or too short to mean a home folder
  Aliases homes_, addresses_, secrets_;
};

}  // namespace multicard::post
