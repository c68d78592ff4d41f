#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace patchbay {

/// Limits the number of log lines. Each subject, a message and its device, can log kBurst lines and
/// then one per minute. All subjects together can log kBurstOfAll lines and then kPerSecondOfAll
/// per second. So a flapping device neither fills the disk nor suppresses the messages of another
/// device. Debug lines have only a total limit, which is counted separately.
///
/// A value type, not thread-safe. The caller passes the time. At most kMaxSubjects subjects are
/// tracked: the least recently used one is dropped, and its next line starts with a full burst.
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
    /// Numbers of suppressed lines to report with the line: of this subject, and by the total
    /// limit. Each number is reported at most once per kReportInterval; otherwise it is 0.
    std::size_t left_out_alike = 0;
    std::size_t left_out_of_all = 0;
  };
  /// Decides whether a line of `subject` is written at `now`.
  Outcome Admit(std::string_view subject, Time now);
  /// Decides whether a debug line is written at `now`.
  Outcome AllowDetail(Time now);

  /// Returns the number of suppressed lines that are not reported yet.
  std::size_t SuppressedCount() const;

 private:
  struct Bucket {
    double tokens = 0;
    Time filled;
    std::size_t left_out = 0;
    std::optional<Time> reported = {};

    bool Fill(double burst, double per_second, Time now);
    std::size_t TakeSuppressed(Time now);
  };
  Bucket& BucketOf(std::string_view subject, Time now);

  std::unordered_map<std::size_t, Bucket> subjects_;  ///< key: hash of the subject
  Bucket all_ = {.tokens = kBurstOfAll, .filled = {}};
  Bucket details_ = all_;
};

}  // namespace patchbay
