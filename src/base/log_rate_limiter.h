#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace patchbay {

/// Limits the number of log lines: per subject, which is a message and its device, kBurst lines and
/// then one per minute; in total kBurstOfAll and then kPerSecondOfAll. A flapping device must
/// neither fill the disk nor suppress the message of another device. Debug lines have only a total
/// limit, a separate one.
///
/// A plain value; time is an argument. The least recent of kMaxSubjects is dropped and starts again
/// with a full burst.
class LogRateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr double kBurst = 60;
  static constexpr double kBurstOfAll = 1000;
  static constexpr double kPerSecondOfAll = 10;
  static constexpr std::size_t kMaxSubjects = 4000;
  static constexpr std::chrono::minutes kReportInterval{1};

  struct Outcome {
    bool write = false;
    /// To report with the line: how many lines were suppressed. Each is reported at most once per
    /// kReportInterval.
    std::size_t left_out_alike = 0;
    std::size_t left_out_of_all = 0;
  };
  Outcome Ask(std::string_view subject, Time now);
  Outcome AllowDetail(Time now);

  /// The number of suppressed lines that were not reported yet.
  std::size_t SuppressedCount() const;

 private:
  struct Bucket {
    double tokens = 0;
    Time filled;
    std::size_t left_out = 0;
    std::optional<Time> told = {};

    bool Fill(double burst, double per_second, Time now);
    std::size_t Tell(Time now);
  };
  Bucket& BucketOf(std::string_view subject, Time now);

  std::unordered_map<std::size_t, Bucket> subjects_;  ///< by their hash
  Bucket all_ = {.tokens = kBurstOfAll, .filled = {}};
  Bucket details_ = all_;
};

}  // namespace patchbay
