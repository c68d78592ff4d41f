#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace patchbay {

/// How much may be logged: of one subject, which is a message and the device it is of, kBurst lines
/// at once and then one a minute; of all together kBurstOfAll and then kPerSecondOfAll. A device
/// that flaps must neither fill a disk nor hide another that fails once. Details, for a person who
/// looks, have the second limit only, and one of their own.
///
/// A plain value; time is an argument. Of kMostSubjects the one not heard of for longest is
/// forgotten: it may have its burst again.
class LogQuota {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr double kBurst = 60;
  static constexpr double kBurstOfAll = 1000;
  static constexpr double kPerSecondOfAll = 10;
  static constexpr std::size_t kMostSubjects = 4000;
  static constexpr std::chrono::minutes kTellPause{1};

  struct Outcome {
    bool write = false;
    /// To be told with the line: how many were left out. Of either kind it is told once in
    /// kTellPause.
    std::size_t left_out_alike = 0;
    std::size_t left_out_of_all = 0;
  };
  Outcome Ask(std::string_view subject, Time now);
  Outcome AskForDetail(Time now);

  /// How many were left out and are not told of yet.
  std::size_t Untold() const;

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
