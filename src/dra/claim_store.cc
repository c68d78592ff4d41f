// A record changes only by a new file that gets its name, so its inode, size and times show whether
// it has to be read again. The directory is listed at every call: the claim of a device is looked
// up under the lock of the device, and another process may have prepared it.

#include "dra/claim_store.h"

#include <ctime>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "dra/claim_metadata.h"
#include "dra/claim_spec.h"
#include "model/object_name.h"
#include "os/read_file.h"

namespace patchbay {
namespace {

constexpr std::string_view kRecordBegin = "claim_";
constexpr std::string_view kRecordEnd = ".json";
/// The kubelet has at most a few hundred pods.
constexpr std::size_t kMaxRecords = 10'000;

constexpr std::string_view kRecordCure =
    "; Patchbay keeps its records of claims there: the directory of the driver must be a writable "
    "directory of the host";

/// Returns the UID in the name of a record, or "".
std::string UidIn(std::string_view name) {
  const std::string uid(
      name.substr(kRecordBegin.size(), name.size() - kRecordBegin.size() - kRecordEnd.size()));
  return IsUid(uid) ? uid : "";
}

std::int64_t BootTime() {
  timespec up = {};
  clock_gettime(CLOCK_BOOTTIME, &up);
  return std::time(nullptr) - up.tv_sec;
}

}  // namespace

std::string CurrentBoot() {
  const auto file = ReadFileContent("/proc/sys/kernel/random/boot_id", 64);
  return file ? file->text.substr(0, file->text.find('\n')) : "";
}

ClaimStore::ClaimStore(const std::string& directory, std::string cdi_dir, std::string driver,
                       std::string boot)
    : records_(directory + "/claims", {.mode = 0600, .directory_mode = 0750, .cure = kRecordCure}),
      metadata_(directory + "/metadata", {.cure = kRecordCure}),
      cdi_(std::move(cdi_dir)),
      driver_(std::move(driver)),
      boot_(std::move(boot)) {}

std::string ClaimStore::ClaimFileName(const std::string& uid) const {
  return patchbay::ClaimFileName(driver_, uid);
}

/// Fails if the file may be readable later: it is not damaged.
Status ClaimStore::ReadRecord(const std::string& uid, const FileDirectory::Stamp& stamp,
                              ClaimRecords& into) {
  auto text = records_.ReadText(RecordName(uid), kMaxRecordBytes);
  if (!text && text.error().kind == ErrorKind::kUnavailable) return Failure(text.error());
  auto record = text ? RecordFromJson(*text, uid) : Result<PreparedClaim>(Failure(text.error()));
  if (record) {
    into.claims.emplace(uid, std::make_shared<const PreparedClaim>(*std::move(record)));
  } else if (record.error().kind != ErrorKind::kNotFound) {
    Error why = std::move(record).error();
    why.message = Format("{} {}", PathOf(uid), why.message);
    into.bad.emplace(uid, BadRecord{PathOf(uid), std::move(why), stamp.modified_s > BootTime()});
  }
  return {};
}

Result<std::shared_ptr<const ClaimRecords>> ClaimStore::Read() {
  const std::lock_guard lock(mutex_);
  FileDirectory::Listing now = TRY(records_.List(kRecordBegin, kRecordEnd));
  if (last_ && now.inode != read_.inode && !last_->claims.empty()) {
    for (const auto& [uid, record] : last_->claims) {
      if (!now.files.contains(RecordName(uid))) {
        TRY(records_.WriteText(RecordName(uid), RecordToJson(*record), false));
      }
    }
    now = TRY(records_.List(kRecordBegin, kRecordEnd));
  }
  if (now.files.size() > kMaxRecords) {
    return Fail(ErrorKind::kUnavailable,
                Format("{} has {} records of claims, and at most {} are read; remove those that no "
                       "ResourceClaim of this node has",
                       records_.path(), now.files.size(), kMaxRecords));
  }
  if (last_ && now.files == read_.files) {
    read_.inode = now.inode;
    return last_;
  }
  auto records = std::make_shared<ClaimRecords>();
  for (const auto& [name, stamp] : now.files) {
    const std::string uid = UidIn(name);
    if (uid.empty()) continue;
    const auto before = read_.files.find(name);
    const bool is_same = last_ && before != read_.files.end() && before->second == stamp;
    if (is_same && last_->claims.contains(uid)) {
      records->claims.insert(*last_->claims.find(uid));
    } else {
      TRY(ReadRecord(uid, stamp, *records));
    }
  }
  read_ = std::move(now);
  last_ = std::move(records);
  return last_;
}

std::shared_ptr<const ClaimRecords> ClaimStore::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

Status ClaimStore::Write(const PreparedClaim& record, bool is_durable) {
  return records_.WriteText(RecordName(record.claim.uid), RecordToJson(record), is_durable);
}

Status ClaimStore::Remove(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  TRY(records_.Remove(RecordName(uid)));
  if (!last_) return {};
  auto without = std::make_shared<ClaimRecords>(*last_);
  without->claims.erase(uid);
  without->bad.erase(uid);
  read_.files.erase(RecordName(uid));
  last_ = std::move(without);
  return {};
}

bool ClaimStore::HasCdi(const PreparedClaim& record) const {
  const auto text = cdi_.ReadText(ClaimFileName(record.claim.uid), record.cdi_file.size());
  return text && *text == record.cdi_file;
}

Status ClaimStore::WriteMetadata(const PreparedClaim& record) const {
  for (const ClaimMetadata& file : record.metadata) {
    TRY(metadata_.WriteText(MetadataFileName(record.claim.uid, file.request), file.text, false));
  }
  return {};
}

Status ClaimStore::RemoveMetadata(const std::string& uid) const {
  const auto files = metadata_.List(Format("metadata_{}_", uid), ".json");
  if (!files) return Failure(files.error());
  for (const auto& [name, stamp] : files->files) TRY(metadata_.Remove(name));
  return {};
}

std::vector<ClaimKey> ClaimStore::FindWrongFiles(const std::set<std::string>& moved) {
  std::vector<ClaimKey> wrong;
  const auto records = last();
  const std::string begin = ClaimFileName("");
  const auto files =
      cdi_.FileDirectory::List(begin.substr(0, begin.size() - kRecordEnd.size()), kRecordEnd);
  if (!records || !files) return wrong;
  for (const auto& [uid, record] : records->claims) {
    if (!record->is_finished || record->boot != boot_) continue;
    const auto file = files->files.find(ClaimFileName(uid));
    const auto size = static_cast<std::int64_t>(record->cdi_file.size());
    const bool is_there = file != files->files.end();
    const bool is_right = moved.contains(uid) ? !is_there : is_there && file->second.size == size;
    if (!is_right) wrong.push_back(record->claim);
  }
  return wrong;
}

void ClaimStore::RemoveOrphans() {
  const auto files = cdi_.List(ClaimKind(driver_));  // before the records, which are written first
  const auto records = Read();
  if (!files || !records) return;
  const std::size_t begin = ClaimFileName("").size() - kRecordEnd.size();
  for (const std::string& name : *files) {
    const std::string uid = name.substr(begin, name.size() - begin - kRecordEnd.size());
    if (!IsUid(uid) || (*records)->bad.contains(uid)) continue;
    const auto record = (*records)->claims.find(uid);
    const bool is_valid = record != (*records)->claims.end() && record->second->boot == boot_;
    // Its containers, if there are any, are those of a claim without a record.
    if (is_valid) continue;
    static_cast<void>(cdi_.Remove(name));
    static_cast<void>(RemoveMetadata(uid));
  }
}

}  // namespace patchbay
