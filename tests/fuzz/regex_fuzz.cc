// Input: a regex, a line end, a path.
#include <algorithm>

#include "fuzz.h"
#include "model/regex.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 256) return 0;
  const auto [pattern, path] = fuzz::TwoParts(data, size);
  const auto regex = Regex::Compile(pattern);
  if (!regex) {
    fuzz::Require(regex.error().offset <= pattern.size());
    fuzz::Require(!regex.error().message.empty());
    return 0;
  }
  const std::string& directory = regex->fixed_directory();
  fuzz::Require(directory.starts_with('/') && directory.ends_with('/'));
  Captures captures;
  if (!regex->Match(path, captures)) return 0;
  // Discovery only scans this directory, so every match must be in it.
  if (!path.starts_with('/') || path.find("//") != std::string_view::npos) return 0;
  fuzz::Require(path.starts_with(directory));
  const auto levels = std::count(path.begin() + std::ssize(directory), path.end(), '/');
  fuzz::Require(regex->depth() == Regex::kAnyDepth || levels <= regex->depth());
  const auto& names = regex->capture_names();
  for (const auto& [name, value] : captures) {
    fuzz::Require(std::find(names.begin(), names.end(), name) != names.end());
    fuzz::Require(path.find(value) != std::string_view::npos);
  }
  return 0;
}
