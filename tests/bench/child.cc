#include "bench/child.h"

#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

extern char** environ;

namespace patchbay::bench {

Child StartChild(std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    std::perror("socketpair");
    std::exit(1);
  }
  Child child{-1, UniqueFd(ends[0])};
  const UniqueFd stdio(ends[1]);
  arguments.insert(arguments.begin(), std::filesystem::read_symlink("/proc/self/exe"));
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, stdio.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, stdio.get(), STDOUT_FILENO);
  if (posix_spawn(&child.pid, argv[0], &files, nullptr, argv.data(), environ) != 0) {
    std::perror("posix_spawn");
    std::exit(1);
  }
  posix_spawn_file_actions_destroy(&files);
  return child;
}

}  // namespace patchbay::bench
