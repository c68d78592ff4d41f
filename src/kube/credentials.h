#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/tls_context.h"
#include "model/cluster_config.h"
#include "os/loop.h"
#include "os/thread_pool.h"

namespace patchbay {

/// The token that a request authenticates with, and the means to verify its server, from one read
/// of the files.
struct Credentials {
  std::string token;  ///< empty with a client certificate
  TlsFiles files;
  std::shared_ptr<boost::asio::ssl::context> tls;  ///< null without TLS

  /// Returns whether both come from the same contents of the files.
  bool IsSameAs(const Credentials& other) const {
    return token == other.token && files == other.files;
  }
};

/// Returns the token in the text of a token file. Fails with kInvalid if it is empty or has other
/// characters than a header can contain. Pure.
Result<std::string> ParseToken(std::string_view text);

/// Reads the files of a configuration. Fails with the name of the file, or with the reason why the
/// API server is not known. Can block.
Result<Credentials> ReadCredentials(const ClusterConfig& config);

/// Reads the credentials again when they may have changed: the kubelet replaces a projected token
/// before it expires, and an administrator replaces a CA. Files are read in the pool, because they
/// may be on a file system that hangs. Belongs to the loop thread.
class CredentialCache {
 public:
  /// Credentials that are older are read again before they are used.
  static constexpr std::chrono::minutes kMaxAge{1};

  using Shared = std::shared_ptr<const Credentials>;
  using Done = std::function<void(Result<Shared>)>;

  CredentialCache(ClusterConfig config, Loop& loop, ThreadPool& pool)
      : config_(std::move(config)), loop_(loop), pool_(pool) {}

  /// Calls `done` with credentials that are at most kMaxAge old, never before Get returns. If
  /// reading fails, the last valid ones are used. `done` is not called after this object is
  /// destroyed, nor while the read hangs: the caller has a deadline.
  void Get(Done done);
  /// Like Get, but reads the files now: the server rejected the credentials, or was not verified. A
  /// failure to read is reported.
  void GetAgain(Done done);

 private:
  struct Waiting {
    Done done;
    bool accepts_old = true;
  };
  void Wait(Waiting waiting);
  void Read();
  void OnRead(std::uint64_t number, Result<Shared> read);

  ClusterConfig config_;
  Loop& loop_;
  ThreadPool& pool_;
  Shared cached_;
  Loop::Time read_at_{};               ///< when reading `cached_` began
  std::optional<Loop::Time> reading_;  ///< when the pending read began
  std::uint64_t number_ = 0;           ///< of the newest read; results of older ones do not count
  std::vector<Waiting> waiting_;
  Lifetime lifetime_;
};

}  // namespace patchbay
