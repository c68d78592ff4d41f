// One read is pending at a time, and all callers wait for it. A read that hangs for kMaxAge is
// given up: the next caller starts another one, because the administrator may have replaced the
// mount.

#include "kube/credentials.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "os/read_file.h"

namespace patchbay {
namespace {

constexpr std::size_t kMaxTokenFileBytes = 64 << 10;
constexpr std::size_t kMaxPemBytes = 1 << 20;

Result<std::string> ReadBounded(const std::string& path, std::size_t max_bytes) {
  auto file = ReadFileContent(path, max_bytes);
  if (!file) {
    return Fail(file.error().kind, Format("{} {}; check that the file exists and that this user "
                                          "may read it",
                                          path, file.error().message));
  }
  if (file->text.size() > max_bytes) {
    return Fail(ErrorKind::kInvalid,
                Format("{} is longer than {} bytes; check the path", path, max_bytes));
  }
  return std::move(file->text);
}

Result<std::string> ReadOptional(const std::string& path, std::size_t max_bytes) {
  if (path.empty()) return std::string();
  return ReadBounded(path, max_bytes);
}

}  // namespace

Result<std::string> ParseToken(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  const bool is_visible = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  if (text.empty() || !is_visible) {
    return Fail(ErrorKind::kInvalid,
                text.empty() ? "is empty; write the token of a service account to it"
                             : "is not a valid token; it must be one line of visible ASCII");
  }
  return std::string(text);
}

/// In a pod, the usual reason for a missing token is that the manifests mount none.
Result<std::string> ReadToken(const std::string& file) {
  auto text = ReadBounded(file, kMaxTokenFileBytes);
  if (text || !file.starts_with(kServiceAccountDir)) return text;
  return Fail(text.error().kind,
              Format("{}; the Kustomize component dra and dra.enabled of the Helm chart mount it",
                     text.error().message));
}

Result<Credentials> ReadCredentials(const ClusterConfig& config) {
  if (!config.unknown.empty()) return Fail(ErrorKind::kNotFound, config.unknown);
  Credentials credentials;
  if (!config.token_file.empty()) {
    const std::string text = TRY(ReadToken(config.token_file));
    auto token = ParseToken(text);
    if (!token) {
      return Fail(token.error().kind, Format("{} {}", config.token_file, token.error().message));
    }
    credentials.token = *std::move(token);
  }
  if (!config.uses_tls) return credentials;
  credentials.files.ca = TRY(ReadBounded(config.ca_file, kMaxPemBytes));
  credentials.files.client_certificate =
      TRY(ReadOptional(config.client_certificate_file, kMaxPemBytes));
  credentials.files.client_key = TRY(ReadOptional(config.client_key_file, kMaxPemBytes));
  auto tls = MakeTlsContext(credentials.files);
  if (!tls) {
    return Fail(tls.error().kind,
                Format("{}; check {}", tls.error().message,
                       config.client_certificate_file.empty()
                           ? config.ca_file
                           : config.ca_file + ", " + config.client_certificate_file + " and " +
                                 config.client_key_file));
  }
  credentials.tls = *std::move(tls);
  return credentials;
}

void CredentialCache::Get(Done done) {
  if (cached_ && loop_.Now() - read_at_ < kMaxAge) {
    return loop_.Post(lifetime_.Guard(
        [cached = cached_, done = std::move(done)]() { done(Result<Shared>(cached)); }));
  }
  Wait({std::move(done), true});
}

void CredentialCache::GetAgain(Done done) { Wait({std::move(done), false}); }

void CredentialCache::Wait(Waiting waiting) {
  waiting_.push_back(std::move(waiting));
  if (!reading_ || loop_.Now() - *reading_ >= kMaxAge) Read();
}

void CredentialCache::Read() {
  reading_ = loop_.Now();
  pool_.Run(
      [config = config_]() -> Result<Shared> {
        return std::make_shared<const Credentials>(TRY(ReadCredentials(config)));
      },
      lifetime_.Guard(
          [this, number = ++number_](Result<Shared> read) { OnRead(number, std::move(read)); }));
}

void CredentialCache::OnRead(std::uint64_t number, Result<Shared> read) {
  if (number != number_) return;
  if (read) {
    cached_ = *read;
    read_at_ = *reading_;
  }
  reading_.reset();
  // A function may destroy this object.
  const Result<Shared> or_old = !read && cached_ ? Result<Shared>(cached_) : read;
  for (const Waiting& waiting : std::exchange(waiting_, {})) {
    waiting.done(waiting.accepts_old ? or_old : read);
  }
}

}  // namespace patchbay
