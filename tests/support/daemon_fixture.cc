#include "support/daemon_fixture.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/format.h"
#include "config/load.h"
#include "os/unique_fd.h"

namespace patchbay::test {

// --- LogText ---

std::string LogText::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

namespace {
std::size_t CountIn(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}
}  // namespace

std::size_t LogText::Count(std::string_view part) const {
  const std::lock_guard lock(mutex_);
  return CountIn(text_, part);
}

bool LogText::Await(std::string_view part, std::size_t times,
                    std::chrono::milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  return grown_.wait_for(lock, timeout, [&] { return CountIn(text_, part) >= times; });
}

LogText::int_type LogText::overflow(int_type c) {
  if (c != traits_type::eof()) {
    const char byte = traits_type::to_char_type(c);
    xsputn(&byte, 1);
  }
  return traits_type::not_eof(c);
}

std::streamsize LogText::xsputn(const char* text, std::streamsize size) {
  const std::lock_guard lock(mutex_);
  text_.append(text, static_cast<std::size_t>(size));
  grown_.notify_all();
  return size;
}

// --- HTTP ---

HttpAnswer HttpGet(const std::string& address, std::string_view path) {
  const auto colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return {};

  const std::string request =
      Format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
  if (send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
  std::string answer;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t got = recv(fd.get(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;  // a probe ended; calls with a timeout do not restart
    if (got <= 0) break;
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  const auto body = answer.find("\r\n\r\n");
  if (body == std::string::npos || answer.size() < 12) return {};
  return {std::atoi(answer.c_str() + 9), answer.substr(body + 4)};
}

double MetricValue(std::string_view metrics, std::string_view series) {
  const std::string line = "\n" + std::string(series) + " ";
  const auto at = metrics.find(line);
  if (at == std::string_view::npos) return -1;
  return std::strtod(std::string(metrics.substr(at + line.size(), 32)).c_str(), nullptr);
}

void RemoveBusyDirectory(const std::string& path) {
  std::error_code error;
  do {
    std::filesystem::remove_all(path, error);
  } while (error);
}

// --- RunningDaemon ---

RunningDaemon::RunningDaemon(const TempTree& tree, std::string_view resources, Settings settings) {
  fixed_keys_ = Format(
      "[daemon]\nlisten = \"127.0.0.1:0\"\nkubelet_dir = \"{}\"\nhost_root = \"{}\"\n"
      "cdi_dir = \"{}\"\npod_resources = \"{}\"\n",
      tree.path("kubelet"), tree.path(), tree.path("cdi"), settings.pod_resources);
  Loaded loaded = Load(resources, settings.daemon_keys);
  if (!loaded.model) {
    ADD_FAILURE() << loaded.diagnostics.RenderText();
    return;
  }
  if (settings.change_model) settings.change_model(*loaded.model);
  Daemon::Options options{*std::move(loaded.model),
                          settings.node_name,
                          NewRun(),
                          "0.0.0",
                          "test",
                          [this](const std::string& reason) {
                            const std::lock_guard lock(mutex_);
                            fatal_ = reason;
                            log_.Error("fatal error", {{"reason", reason}});
                          },
                          settings.pod_resources_pace,
                          settings.max_loop_stall,
                          settings.progress_limits};
  options.make_cancellation = settings.make_cancellation;
  options.cluster = settings.cluster;
  options.pod_uid = settings.pod_uid;
  thread_ = std::thread([this] { loop_.Run(); });
  OnLoop([&] {
    auto daemon = Daemon::Create(loop_, log_, std::move(options));
    if (daemon) {
      daemon_ = *std::move(daemon);
      address_ = daemon_->http_address();
    } else {
      ADD_FAILURE() << daemon.error().message;
    }
  });
}

Loaded RunningDaemon::Load(std::string_view resources, std::string_view daemon_keys) const {
  return LoadTexts({{"test.toml", Format("{}{}\n{}\n", fixed_keys_, daemon_keys, resources)}});
}

void RunningDaemon::Reload(std::string_view resources, std::string_view daemon_keys) {
  OnLoop([&] { daemon_->Reload(Load(resources, daemon_keys)); });
}

RunningDaemon::~RunningDaemon() { Stop(); }

bool RunningDaemon::Stop(std::chrono::milliseconds timeout) {
  if (!thread_.joinable()) return true;
  std::promise<void> ended;
  auto end = ended.get_future();
  loop_.Post([&] {
    if (daemon_) {
      daemon_->Stop([&] { ended.set_value(); });
    } else {
      ended.set_value();
    }
  });
  const bool in_time = end.wait_for(timeout) == std::future_status::ready;
  end.wait();
  OnLoop([this] { daemon_.reset(); });
  loop_.Stop();
  thread_.join();
  return in_time;
}

std::string RunningDaemon::fatal() const {
  const std::lock_guard lock(mutex_);
  return fatal_;
}

bool RunningDaemon::AwaitTrue(const std::function<bool()>& condition,
                              std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
  return true;
}

bool RunningDaemon::AwaitMetric(std::string_view series, double value,
                                std::chrono::milliseconds timeout) const {
  return AwaitTrue([&] { return Metric(series) == value; }, timeout);
}

bool RunningDaemon::AwaitMetricAtLeast(std::string_view series, double value,
                                       std::chrono::milliseconds timeout) const {
  return AwaitTrue([&] { return Metric(series) >= value; }, timeout);
}

bool RunningDaemon::AwaitReady() const {
  return AwaitTrue([this] { return Get("/readyz").status == 200; }, kPatience);
}

bool RunningDaemon::AwaitUnready(std::string_view reason) const {
  return AwaitTrue(
      [&] {
        const HttpAnswer answer = Get("/readyz");
        return answer.status != 200 && answer.body.find(reason) != std::string::npos;
      },
      kPatience);
}

}  // namespace patchbay::test
