#include "dra/claim_files.h"

#include <string_view>

#include "base/format.h"
#include "model/driver_name.h"
#include "model/object_name.h"

namespace patchbay {

Result<PreparedClaim> ClaimFiles::ReadFile(const std::string& name, const std::string& uid) const {
  const CdiSpec spec = TRY(directory_.Read(name));
  auto prepared = ReadClaimSpec(spec, driver_, uid);
  if (!prepared) {
    prepared.error().message =
        Format("{}/{} {}", directory_.path(), name, prepared.error().message);
  }
  return prepared;
}

Result<std::optional<PreparedClaim>> ClaimFiles::Read(const std::string& uid) const {
  auto prepared = ReadFile(ClaimFileName(driver_, uid), uid);
  if (prepared) return *std::move(prepared);
  if (prepared.error().kind == ErrorKind::kNotFound) return std::nullopt;
  return Failure(std::move(prepared).error());
}

Result<ClaimFiles::All> ClaimFiles::ReadAll() const {
  const std::string_view end = ".json";
  const std::size_t prefix = ClaimFileName(driver_, "").size() - end.size();
  All all;
  const std::vector<std::string> names = TRY(directory_.List(ClaimKind(driver_)));
  if (names.size() > kMaxFiles) {
    return Fail(ErrorKind::kUnavailable,
                Format("{} has {} files of claims, and at most {} are read; remove those that no "
                       "ResourceClaim of this node has",
                       directory_.path(), names.size(), kMaxFiles));
  }
  for (const std::string& name : names) {
    const std::string uid = name.substr(prefix, name.size() - end.size() - prefix);
    if (!IsUid(uid)) continue;
    auto prepared = ReadFile(name, uid);
    if (prepared) {
      all.claims.push_back(*std::move(prepared));
    } else if (prepared.error().kind == ErrorKind::kInvalid) {
      all.damaged.push_back(std::move(prepared).error().message);
    } else if (prepared.error().kind != ErrorKind::kNotFound) {
      return Failure(std::move(prepared).error());
    }
  }
  return all;
}

}  // namespace patchbay
