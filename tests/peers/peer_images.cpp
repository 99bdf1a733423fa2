// Images and folders as multicard reads them, for tests/peers/random: answers each line of standard input, a JSON
// object.
//
//   {"file": PATH, "size": S}   {"head": shape of its head, "shape", "pixels", "resized" to S x S}, bytes in
//   hexadecimal
//   {"folder": PATH}            {"classes": names, "files": [[path below it, label], ...]}
//   in either case              {"error"}

#include <iostream>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "prepare/images/FolderSource.hpp"
#include "prepare/images/ImageFile.hpp"
#include "prepare/images/Resize.hpp"

namespace {

using namespace multicard;
using nlohmann::ordered_json;

std::string hexadecimal(const std::vector<std::uint8_t>& bytes) {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

ordered_json read_file_of(const ordered_json& request) {
  const auto path = request["file"].get<std::string>();
  const auto as_list = [](const ImageShape& shape) { return ordered_json{shape.height, shape.width, shape.channels}; };
  const ImageShape head = shape_of_image_file(path);
  const Image image = read_image_file(path);
  return {{"head", as_list(head)},
          {"shape", as_list(image.shape)},
          {"pixels", hexadecimal(image.pixels)},
          {"resized", hexadecimal(resized(image, request["size"].get<std::int64_t>()).pixels)}};
}

ordered_json list_folder(const ordered_json& request) {
  const FolderSource source(request["folder"].get<std::string>(), Communicator::null());
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < source.size(); ++i)
    all.push_back(i);
  ordered_json files = ordered_json::array();
  const std::vector<SourceFile> found = source.files(all);
  for (const std::int64_t i : all)
    files.push_back({found[static_cast<std::size_t>(i)].name, source.label(i)});
  return {{"classes", source.class_names()}, {"files", files}};
}

ordered_json answer(const ordered_json& request) {
  try {
    return request.contains("file") ? read_file_of(request) : list_folder(request);
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(ordered_json::parse(line)).dump(-1, ' ', false, ordered_json::error_handler_t::replace)
              << std::endl;
}
