#include "support/daemon_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "os/unique_fd.h"

extern char** environ;

namespace patchbay::test {
namespace {

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "daemon process: %s\n", what.c_str());
  std::exit(1);
}

}  // namespace

DaemonProcess::DaemonProcess(KubeletSimOptions options) {
  options.directory = run_.path("device-plugins");
  options.pod_resources = pod_resources();
  auto kubelet = KubeletSim::Create(options);
  if (!kubelet || !(*kubelet)->Start()) Die("cannot start the built-in kubelet");
  kubelet_ = std::move(*kubelet);
}

DaemonProcess::~DaemonProcess() { Stop(); }

Clock::time_point DaemonProcess::Start(const std::string& resources,
                                       const std::string& daemon_keys) {
  run_.File("patchbay.toml", "[daemon]\npod_resources = \"" + pod_resources() + "\"\n" +
                                 daemon_keys + "\n" + resources);
  return Run(run_.path("patchbay.toml"));
}

Clock::time_point DaemonProcess::Run(const std::string& config, int log) {
  const std::string binary = PATCHBAY_BINARY, plugins = run_.path("device-plugins"),
                    root = host_.path(), log_file = log_path();
  std::vector<const char*> argv = {binary.c_str(),  "run",           "--config", config.c_str(),
                                   "--kubelet-dir", plugins.c_str(), "--listen", "127.0.0.1:0",
                                   "--host-root",   root.c_str(),    nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (log >= 0) {
    posix_spawn_file_actions_adddup2(&files, log, 2);
  } else {
    posix_spawn_file_actions_addopen(&files, 2, log_file.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  }
  const auto start = Clock::now();
  if (posix_spawn(&pid_, binary.c_str(), &files, nullptr, const_cast<char* const*>(argv.data()),
                  environ) != 0) {
    Die("cannot start " + binary);
  }
  posix_spawn_file_actions_destroy(&files);
  return start;
}

int DaemonProcess::Stop() {
  if (pid_ < 0) return 0;
  int status = 0;
  kill(pid_, SIGTERM);
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

std::string DaemonProcess::Log() const {
  std::ifstream log(run_.path("log"));
  return {std::istreambuf_iterator<char>(log), {}};
}

std::string DaemonProcess::LogTail() const {
  constexpr std::size_t kMaxShown = 20'000;
  const std::string log = Log();
  return log.substr(log.size() - std::min(log.size(), kMaxShown));
}

void DaemonProcess::AwaitListed(int resources, std::size_t devices) {
  const auto listed_one = [&](int i) {
    const auto view = kubelet_->View("bench.dev/r" + std::to_string(i));
    return view && view->connected && view->allocatable == devices;
  };
  int reached = 0;  // resources that were listed are checked again only at the end
  const bool listed = kubelet_->Await(
      [&] {
        while (reached < resources && listed_one(reached)) ++reached;
        if (reached < resources) return false;
        reached = 0;
        while (reached < resources && listed_one(reached)) ++reached;
        return reached == resources;
      },
      std::chrono::minutes(1));
  if (!listed) Die("the resources were not listed within a minute; see " + run_.path("log"));
}

long DaemonProcess::StatusKib(std::string_view field) const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::strtol(line.c_str() + field.size(), nullptr, 10);
  }
  Die("no memory in the status of the process");
}

double DaemonProcess::CpuSeconds() const {
  std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

int DaemonProcess::Port() const {
  std::istringstream log(Log());
  std::string line;
  while (std::getline(log, line)) {
    const auto at = line.find("address=127.0.0.1:");
    if (at != std::string::npos) return std::atoi(line.c_str() + at + 18);
  }
  Die("the daemon did not say where it serves metrics");
}

DaemonProcess::Scrape DaemonProcess::Get(std::string_view path, int port, bool compressed) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string request = "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
                              (compressed ? "Accept-Encoding: gzip\r\n" : "") +
                              "Connection: close\r\n\r\n";
  const auto start = Clock::now();
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      write(fd.get(), request.data(), request.size()) < 0) {
    Die("cannot connect to the HTTP port");
  }
  Scrape scrape{};
  std::vector<char> buffer(256 * 1024);
  while (true) {
    const ssize_t length = read(fd.get(), buffer.data(), buffer.size());
    if (length <= 0) break;
    scrape.text.append(buffer.data(), static_cast<std::size_t>(length));
  }
  scrape.took = Clock::now() - start;
  if (!scrape.text.starts_with("HTTP/1.1 200 "))
    Die("no answer for " + std::string(path) + ": " + scrape.text.substr(0, 200));
  return scrape;
}

double DaemonProcess::Scrape::operator[](const std::string& series) const {
  const std::size_t at = text.find("\n" + series + " ");
  if (at == std::string::npos) return std::numeric_limits<double>::quiet_NaN();
  return std::strtod(text.c_str() + at + series.size() + 2, nullptr);
}

}  // namespace patchbay::test
