#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/cdi_spec.h"
#include "cdi/file_directory.h"

namespace patchbay {

/// Returns the name of the file for a kind of devices and a text of ASCII letters, digits, "-", "_"
/// and ".", unique in the kind: "vendor.com-class_id.json", as SPEC.md recommends.
std::string CdiFileName(std::string_view kind, std::string_view id);

/// A directory in which runtimes look for CDI files, such as /var/run/cdi; see FileDirectory.
class CdiDirectory : public FileDirectory {
 public:
  explicit CdiDirectory(std::string path);

  /// Makes the content of a file equal to the spec, durably. Fails as WriteText and CdiToJson do.
  Status Write(const std::string& name, const CdiSpec& spec) const;

  /// Fails with kNotFound if the file or the directory does not exist, and with kInvalid if the
  /// file was not written by Write.
  Result<CdiSpec> Read(const std::string& name) const;

  /// Returns the names of the files of a kind, sorted. A missing directory is empty.
  Result<std::vector<std::string>> List(std::string_view kind) const;
};

}  // namespace patchbay
