#include "base/utc_text.h"

#include <ctime>

#include "base/format.h"

namespace patchbay {

std::string UtcText(std::chrono::system_clock::time_point time) {
  const auto since = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const std::time_t whole = seconds.count();
  std::tm utc{};
  gmtime_r(&whole, &utc);
  return Format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                std::chrono::floor<std::chrono::milliseconds>(since - seconds).count());
}

}  // namespace patchbay
