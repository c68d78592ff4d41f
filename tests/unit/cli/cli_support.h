#pragma once

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace patchbay::test {

/// The result of a command line that was run in this process.
struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

inline std::vector<const char*> Argv(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"patchbay"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return argv;
}

/// Runs "patchbay" with these arguments.
inline Ran RunCli(const std::vector<std::string>& arguments) {
  const auto argv = Argv(arguments);
  std::ostringstream out, err;
  const int code = RunCommandLine(static_cast<int>(argv.size()), argv.data(), {out, err});
  return {code, out.str(), err.str()};
}

/// Sets an environment variable for the duration of a scope, or unsets it if there is no value.
class ScopedEnv {
 public:
  ScopedEnv(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old;
    Set(value);
  }
  ~ScopedEnv() { Set(old_); }
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;

 private:
  void Set(const std::optional<std::string>& value) {
    if (value) {
      setenv(name_.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name_.c_str());
    }
  }

  std::string name_;
  std::optional<std::string> old_;
};

/// Drops root privileges for the duration of a scope, because root can read every file. No effect
/// for other users.
class Unprivileged {
 public:
  Unprivileged() : was_root_(geteuid() == 0) {
    if (was_root_ && seteuid(65534) != 0) throw std::runtime_error("root cannot become nobody");
  }
  ~Unprivileged() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  bool was_root_;
};

}  // namespace patchbay::test
