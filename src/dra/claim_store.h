#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/cdi_directory.h"
#include "dra/claim_record.h"

namespace patchbay {

/// Returns the ID of the current boot of this host; "" if the kernel has none.
std::string CurrentBoot();

/// A record that cannot be read.
struct BadRecord {
  std::string file;
  Error why;               ///< kPrecondition: of another version
  bool is_of_boot = true;  ///< false: written before the host booted, so no container has it
};

/// All records of a driver, by the UIDs of their claims.
struct ClaimRecords {
  std::map<std::string, std::shared_ptr<const PreparedClaim>> claims;
  std::map<std::string, BadRecord> bad;
};

/// The records of the claims of one driver, in its directory, and their CDI files. A record is read
/// when it has changed, also by the other instance of a rolling update.
///
/// Thread-safe. All methods access the file system, which can hang: call them in a pool.
class ClaimStore {
 public:
  /// `directory` is that of the driver.
  ClaimStore(const std::string& directory, std::string cdi_dir, std::string driver,
             std::string boot = CurrentBoot());

  /// Returns all records as they are now; the same object while nothing changes. Writes them again
  /// if their directory was deleted: only Remove releases a claim. Fails with kUnavailable.
  Result<std::shared_ptr<const ClaimRecords>> Read();
  /// Returns what Read returned last; null before that. Accesses no files, but waits for Read.
  std::shared_ptr<const ClaimRecords> last() const;

  /// See FileDirectory::WriteText.
  Status Write(const PreparedClaim& record, bool is_durable);
  Status Remove(const std::string& uid);
  std::string PathOf(const std::string& uid) const { return records_.PathOf(RecordName(uid)); }

  /// The CDI files. Publish gives a temporary file of cdi() the name of the claim.
  Status Publish(const std::string& temporary, const std::string& uid) const {
    return cdi_.Publish(temporary, ClaimFileName(uid));
  }
  Status WriteCdi(const PreparedClaim& record) const {
    return cdi_.WriteText(ClaimFileName(record.claim.uid), record.cdi_file, false);
  }
  /// The metadata files, from which CDI files mount: to be written before them.
  Status WriteMetadata(const PreparedClaim& record) const;
  Status RemoveMetadata(const std::string& uid) const;
  const std::string& metadata_dir() const { return metadata_.path(); }
  bool HasCdi(const PreparedClaim& record) const;
  Status RemoveCdi(const std::string& uid) const { return cdi_.Remove(ClaimFileName(uid)); }
  /// Returns the claims whose CDI files are missing or have another size, or are there although
  /// the claim is one of `moved`: those whose devices are not where they were.
  std::vector<ClaimKey> FindWrongFiles(const std::set<std::string>& moved);
  /// Removes the CDI files and the metadata of claims without a record of this boot.
  void RemoveOrphans();

  const CdiDirectory& cdi() const { return cdi_; }
  const std::string& directory() const { return records_.path(); }  ///< of the records
  const std::string& driver() const { return driver_; }
  const std::string& boot() const { return boot_; }

 private:
  std::string ClaimFileName(const std::string& uid) const;
  Status ReadRecord(const std::string& uid, const FileDirectory::Stamp& stamp, ClaimRecords& into);

  const FileDirectory records_;
  const FileDirectory metadata_;
  const CdiDirectory cdi_;
  const std::string driver_;
  const std::string boot_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ClaimRecords> last_;
  FileDirectory::Listing read_;  ///< the files of last_
};

}  // namespace patchbay
