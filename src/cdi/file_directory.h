#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace patchbay {

/// A directory whose files are replaced atomically. Files of others are never changed, and links
/// are never followed.
///
/// Thread-safe, also with other processes; stateless. All methods access the file system, which can
/// hang: call them in a pool. Errors name the path and say what to do.
class FileDirectory {
 public:
  struct Settings {
    mode_t mode = 0644;            ///< of files
    mode_t directory_mode = 0755;  ///< if it is created
    std::string_view cure = {};    ///< ends the message if the directory cannot be written to
  };
  FileDirectory(std::string path, Settings settings)
      : path_(std::move(path)), settings_(settings) {}

  /// Makes the content of a file equal to the text. Writes nothing if it is already. Creates the
  /// directory, but not its parents. If `is_durable`, the file survives a loss of power. Fails with
  /// kUnavailable if the directory cannot be written to.
  Status WriteText(const std::string& name, std::string_view text, bool is_durable) const;

  /// The two steps of WriteText: writes a file that no other program reads, and returns its name;
  /// then gives it the name that others read. Temporary files that are not published are removed by
  /// a later write.
  Result<std::string> WriteTemporary(std::string_view text) const;
  Status Publish(const std::string& temporary, const std::string& name) const;

  /// Fails with kNotFound if the file or the directory does not exist, and with kInvalid if it is
  /// not a regular file or has more than `max` bytes.
  Result<std::string> ReadText(const std::string& name, std::size_t max) const;

  /// Identifies a state of a file that only this class changes.
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;
    std::int64_t modified_s = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Listing {
    std::uint64_t inode = 0;  ///< of the directory; 0: it does not exist
    std::map<std::string, Stamp> files;
  };
  /// Returns the files whose names begin and end with these texts.
  Result<Listing> List(std::string_view begin, std::string_view end) const;

  /// Removes a file. Succeeds if it does not exist.
  Status Remove(const std::string& name) const;

  const std::string& path() const { return path_; }
  std::string PathOf(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  Failure CannotWrite(const std::string& name, int error) const;
  Failure CannotRead(const std::string& path, int error) const;

  std::string path_;
  Settings settings_;
};

}  // namespace patchbay
