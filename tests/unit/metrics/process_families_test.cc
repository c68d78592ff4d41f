#include "metrics/process_families.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace patchbay {
namespace {

const std::string kRest =
    " S 1 1 1 0 -1 4194560 500 0 3 0 120 30 0 0 20 0 7 0 5000 104857600 2048 "
    "18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0\n";

TEST(ProcessStat, ParsesAnyProgramName) {
  for (const char* name : {"patchbay", "a b", "a) S 9 9", "(((", ""}) {
    const auto stat = ParseProcessStat("42 (" + std::string(name) + ")" + kRest, 100, 4096);
    ASSERT_TRUE(stat) << name;
    EXPECT_DOUBLE_EQ(stat->cpu_seconds, 1.5);
    EXPECT_EQ(stat->threads, 7);
    EXPECT_EQ(stat->start_seconds_after_boot, 50);
    EXPECT_EQ(stat->virtual_bytes, 104857600);
    EXPECT_EQ(stat->resident_bytes, 2048 * 4096);
  }
}

TEST(ProcessStat, RejectsMalformedText) {
  for (const char* text : {"", "42", "42 (x", "42 (x)", "42 (x) S 1 2 3",
                           "42 (x) S 1 1 1 0 -1 0 0 "
                           "0 0 0 x 30 0 0 20 0 7 0 5000 1 2"}) {
    EXPECT_FALSE(ParseProcessStat(text, 100, 4096)) << text;
  }
}

TEST(ProcessFamilies, ReportThisProcess) {
  std::map<std::string, double> values;
  for (const auto& family : ProcessFamilies(12)) {
    ASSERT_EQ(family.metric.size(), 1u);
    const bool counter = family.type == prometheus::MetricType::Counter;
    values[family.name] = counter ? family.metric[0].counter.value : family.metric[0].gauge.value;
  }
  EXPECT_EQ(values.size(), 8u);
  EXPECT_EQ(values["patchbay_log_lines_dropped_total"], 12);
  EXPECT_GE(values["process_threads"], 1);
  EXPECT_GT(values["process_resident_memory_bytes"], 1e6);
  EXPECT_GE(values["process_virtual_memory_bytes"], values["process_resident_memory_bytes"]);
  EXPECT_GE(values["process_open_fds"], 1);
  EXPECT_GE(values["process_max_fds"], values["process_open_fds"]);
  EXPECT_GT(values["process_start_time_seconds"], 1.6e9);
}

}  // namespace
}  // namespace patchbay
