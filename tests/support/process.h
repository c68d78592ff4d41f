#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace patchbay::test {

/// Returns the number of entries in a /proc directory of a process.
inline std::size_t CountInProc(pid_t pid, const char* what) {
  std::error_code gone;
  const std::filesystem::directory_iterator entries("/proc/" + std::to_string(pid) + "/" + what,
                                                    gone);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}
inline std::size_t DescriptorsOf(pid_t pid) { return CountInProc(pid, "fd"); }
inline std::size_t ThreadsOf(pid_t pid) { return CountInProc(pid, "task"); }

/// Returns the child processes, including zombies.
inline std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string text(1024, '\0');
    stat.read(text.data(),
              static_cast<std::streamsize>(text.size()));  // the process may have ended
    text.resize(static_cast<std::size_t>(stat.gcount()));
    // "pid (name) state parent": a name can contain any bytes.
    const auto name_end = text.rfind(") ");
    if (name_end == std::string::npos) continue;
    if (std::stoi(text.substr(name_end + 4)) == parent) children.push_back(std::stoi(name));
  }
  return children;
}

}  // namespace patchbay::test
