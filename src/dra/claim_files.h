#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/cdi_directory.h"
#include "dra/claim_edits.h"

namespace patchbay {

/// The CDI files of the prepared claims of one driver. Thread-safe, also with other processes;
/// stateless. All methods access the file system, which can hang: call them in a pool.
class ClaimFiles {
 public:
  ClaimFiles(std::string cdi_dir, std::string driver)
      : directory_(std::move(cdi_dir)), driver_(std::move(driver)) {}

  /// Returns nothing if the claim is not prepared. Fails with kInvalid if Write has not written the
  /// file like that, and with kUnavailable if it cannot be read.
  Result<std::optional<PreparedClaim>> Read(const std::string& uid) const;

  /// The whole file; fails as Read does, or with kNotFound.
  Result<CdiSpec> ReadSpec(const std::string& uid) const {
    return directory_.Read(ClaimFileName(driver_, uid));
  }

  struct All {
    std::vector<PreparedClaim> claims;
    std::vector<std::string> damaged;  ///< an error for each file that is not valid
  };
  /// The maximum number of files: the kubelet has at most a few hundred pods.
  static constexpr std::size_t kMaxFiles = 10'000;
  /// Fails with kUnavailable if the directory cannot be read, or has more than kMaxFiles of them.
  Result<All> ReadAll() const;

  /// Writes the file atomically and durably, see CdiDirectory::Write.
  Status Write(const std::string& uid, const CdiSpec& spec) const {
    return directory_.Write(ClaimFileName(driver_, uid), spec);
  }
  Status CheckWritable() const { return directory_.CheckWritable(); }
  Status CheckRoom(const std::string& uid, const CdiSpec& spec) const {
    return directory_.CheckRoom(ClaimFileName(driver_, uid), spec);
  }
  /// Succeeds if the file does not exist.
  Status Remove(const std::string& uid) const {
    return directory_.Remove(ClaimFileName(driver_, uid));
  }

  std::string PathOf(const std::string& uid) const {
    return directory_.path() + "/" + ClaimFileName(driver_, uid);
  }
  const std::string& directory() const { return directory_.path(); }
  const std::string& driver() const { return driver_; }

 private:
  Result<PreparedClaim> ReadFile(const std::string& name, const std::string& uid) const;

  CdiDirectory directory_;
  std::string driver_;
};

}  // namespace patchbay
