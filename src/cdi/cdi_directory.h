#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/cdi_spec.h"

namespace patchbay {

/// Returns the name of the file for a kind of devices and a text of ASCII letters, digits, "-", "_"
/// and ".", unique in the kind: "vendor.com-class_id.json", as SPEC.md recommends.
std::string CdiFileName(std::string_view kind, std::string_view id);

/// A directory in which runtimes look for CDI files, such as /var/run/cdi. Files of others are
/// never changed, and links are never followed.
///
/// Thread-safe, also with other processes; stateless. All methods access the file system, which can
/// hang: call them in a pool. Errors name the path and say what to do.
class CdiDirectory {
 public:
  explicit CdiDirectory(std::string path) : path_(std::move(path)) {}

  /// Makes the content of a file equal to the spec, atomically and durably. Writes nothing if it
  /// is already. Creates the directory, but not its parents. Fails with kInvalid for an invalid
  /// spec, and with kUnavailable if the directory cannot be written to.
  Status Write(const std::string& name, const CdiSpec& spec) const;

  /// Fails as Write does if the directory is missing and cannot be created, or cannot be written
  /// to.
  Status CheckWritable() const;

  /// Fails as Write does if there is no room for a file with this spec, or if the file that Write
  /// would replace cannot be replaced.
  Status CheckRoom(const std::string& name, const CdiSpec& spec) const;

  /// Fails with kNotFound if the file or the directory does not exist, and with kInvalid if the
  /// file was not written by Write.
  Result<CdiSpec> Read(const std::string& name) const;

  /// Returns the names of the files of a kind, sorted. A missing directory is empty.
  Result<std::vector<std::string>> List(std::string_view kind) const;

  /// Removes a file. Succeeds if it does not exist.
  Status Remove(const std::string& name) const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace patchbay
