#include "sim/kubelet/dra_drivers.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace patchbay {

Status DraDrivers::Add(const std::string& driver, DraInstance instance, Time now) {
  std::vector<DraInstance>& instances = drivers_[driver];
  for (const DraInstance& other : instances) {
    if (other.endpoint != instance.endpoint) continue;
    return Fail(ErrorKind::kPrecondition,
                Format("endpoint {} already registered for DRA driver plugin {}", instance.endpoint,
                       driver));
  }
  instances.push_back(std::move(instance));
  Sync(driver, now);
  return {};
}

void DraDrivers::Remove(const std::string& driver, DraInstanceId id, Time now) {
  const auto instances = drivers_.find(driver);
  if (instances == drivers_.end()) return;
  std::erase_if(instances->second, [&](const DraInstance& i) { return i.id == id; });
  if (instances->second.empty()) drivers_.erase(instances);
  Sync(driver, now);
}

void DraDrivers::SetConnected(const std::string& driver, DraInstanceId id, bool connected,
                              Time now) {
  const auto instances = drivers_.find(driver);
  if (instances == drivers_.end()) return;
  for (DraInstance& instance : instances->second) {
    if (instance.id == id) instance.connected = connected;
  }
  Sync(driver, now);
}

std::optional<DraInstanceId> DraDrivers::InUse(const std::string& driver) const {
  const auto found = drivers_.find(driver);
  if (found == drivers_.end()) return std::nullopt;
  const std::vector<DraInstance>& instances = found->second;
  const auto connected = std::find_if(instances.rbegin(), instances.rend(),
                                      [](const DraInstance& i) { return i.connected; });
  return connected == instances.rend() ? instances.back().id : connected->id;
}

std::vector<DraInstance> DraDrivers::Instances(const std::string& driver) const {
  const auto found = drivers_.find(driver);
  return found == drivers_.end() ? std::vector<DraInstance>{} : found->second;
}

std::vector<std::string> DraDrivers::TakeDueWipes(Time now) {
  std::vector<std::string> due;
  std::erase_if(wipes_, [&](const auto& wipe) {
    if (wipe.second > now) return false;
    due.push_back(wipe.first);
    return true;
  });
  return due;
}

std::optional<DraDrivers::Time> DraDrivers::NextWipe() const {
  std::optional<Time> next;
  for (const auto& [driver, due] : wipes_) next = std::min(next.value_or(due), due);
  return next;
}

void DraDrivers::Sync(const std::string& driver, Time now) {
  const std::vector<DraInstance> instances = Instances(driver);
  if (std::any_of(instances.begin(), instances.end(),
                  [](const DraInstance& i) { return i.connected; })) {
    wipes_.erase(driver);
  } else {
    wipes_.try_emplace(driver, now + wipe_delay_);
  }
}

}  // namespace patchbay
