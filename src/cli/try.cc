#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/version.h"

namespace patchbay {

int RunTry(const Arguments& arguments, Streams streams) {
  std::error_code none;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
  std::vector<std::string> words = {self.parent_path() / "patchbay-try"};
  words.insert(words.end(), arguments.words.begin(), arguments.words.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv.front(), argv.data());
  streams.err << Format(
      "patchbay: cannot run {} ({}), which has the simulators for `try`; the Debian package and "
      "the image patchbay:{}-tools contain it\n",
      words.front(), std::strerror(errno), kVersion);
  return kFailed;
}

}  // namespace patchbay
