// Input: a glob, a line end, a path.
#include "fuzz.h"
#include "model/glob.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 512) return 0;
  const auto [pattern, path] = fuzz::TwoParts(data, size);
  const auto glob = Glob::Compile(pattern);
  if (!glob) {
    fuzz::Require(glob.error().offset <= pattern.size());
    fuzz::Require(!glob.error().message.empty());
    return 0;
  }
  const std::string& directory = glob->fixed_directory();
  fuzz::Require(directory.starts_with('/') && directory.ends_with('/'));
  fuzz::Require(!glob->alternatives().empty());
  for (const auto& components : glob->alternatives()) fuzz::Require(!components.empty());
  // Discovery only scans this directory, so every match must be in it.
  const bool plain = path.starts_with('/') && path.find("//") == std::string_view::npos;
  if (glob->Matches(path) && plain) fuzz::Require(path.starts_with(directory));
  return 0;
}
