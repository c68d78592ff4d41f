// Compares docs/limits.md with the constants of the program.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/format.h"
#include "base/log.h"
#include "config/patterns.h"
#include "config/reporter.h"
#include "config/source_file.h"
#include "daemon/descriptor_need.h"
#include "discovery/command_output.h"
#include "discovery/scan_budget.h"
#include "discovery/scan_context.h"
#include "dra/claim_preparer.h"
#include "http/server.h"
#include "inventory/allocation.h"
#include "inventory/inventory.h"
#include "kubelet/allocate_call.h"
#include "kubelet/pod_resources_message.h"
#include "kubelet/proto_convert.h"
#include "kubelet/registration.h"
#include "model/spec.h"
#include "model/template.h"
#include "os/descriptors.h"
#include "rpc/latest_streams.h"

namespace patchbay {
namespace {

/// Formats a number with separators: 12,345.
std::string Grouped(std::size_t number) {
  std::string text = std::to_string(number);
  for (auto at = std::ssize(text) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

/// Formats a size: 1 MiB, 3.5 MiB, 64 KiB.
std::string Bytes(std::size_t bytes) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  if (bytes % kMebibyte == 0) return Format("{} MiB", bytes / kMebibyte);
  if (bytes * 2 % kMebibyte == 0) return Format("{}.5 MiB", bytes / kMebibyte);
  return Format("{} bytes", Grouped(bytes));
}

TEST(Limits, DocumentationMatchesTheConstants) {
  std::ifstream file(PATCHBAY_SOURCE_DIR "/docs/limits.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(page.empty());
  const HttpLimits http;
  for (const std::string& row : {
           Format("| a file | {} |", Bytes(kLargestSource)),
           Format("| all files together | {} |", Bytes(kLargestInput)),
           Format("| errors that are shown, and warnings | {} of each |", Reporter::kMaxFindings),
           Format("| `kubelet_dir` | {} bytes, since paths of sockets have {} |", kMaxKubeletDir,
                  kMaxSocketPath),
           Format("| what the patterns of one resource find | {} of", Bytes(ScanShare::kMax)),
           Format("| what the patterns of all resources find | {}, and {} KiB for each",
                  Bytes(ScanBudget::kTotal), ScanShare::kOwn / 1024),
           Format("{} after the expansion of braces, and {} when",
                  Grouped(PatternCompiler::kMaxPatterns), Bytes(PatternCompiler::kMaxBytes)),
           Format("| rejections that are kept | {} of", Grouped(ScanContext::kMaxRejections)),
           Format("| devices that vanished and that no pod uses | {} of a resource",
                  Grouped(Inventory::kMaxVanished)),
           Format("| output of a `command` of a source | {},", Bytes(kMaxCommandOutput)),
           Format("| the same, in bytes | {}:", Bytes(kMaxListBytes)),
           Format("| a template when it is filled in | {} |", Bytes(Template::kMaxResult)),
           Format("| an environment variable, joined of all devices | {} with", Bytes(kMaxEnv)),
           Format("| everything together | {}:", Bytes(kMaxResponse)),
           Format("| containers in a call; the kubelet sends one | {} |", kMaxContainers),
           Format("| `ListAndWatch` streams of one resource | {},", kMaxStreams),
           Format("| claims that are prepared at once | {}; {} with", ClaimPreparer::kMaxThreads,
                  ClaimPreparer::kMaxClaims),
           Format("| `allocate` and `pre_start` of a claim together | {} s |",
                  ClaimPreparer::kHookLimit.count()),
           Format("| waiting for another call that has the claim or its devices | {} s |",
                  ClaimPreparer::kLockLimit.count()),
           Format("| a call for claims | {} s before", ClaimPreparer::kReserve.count()),
           Format("| holders that are kept | {} |", Grouped(kMaxHoldings)),
           Format("| pause between two registrations | {} s |", kMaxBackOff.count()),
           Format(
               "| file descriptors | {}, and {} for each resource and {} for each of `max_probes`",
               kBaseDescriptors, kDescriptorsPerResource, kDescriptorsPerProbe),
           Format("hard one, at most to {};", Grouped(kMaxDescriptors)),
           Format("| log lines that wait to be read | {} |", Grouped(Log::kQueueLines)),
           Format("| the same line again | {} s |", Log::kRepeatTime.count()),
           Format("| connections | {} |", http.connections),
           Format("| path and query of a request | {} |", Bytes(http.target_bytes)),
           Format("| the lines that follow | {} |", Bytes(http.header_bytes)),
           Format("| requests that wait until the status or the metrics are rendered | {} |",
                  http.waiting),
           Format("| sending a request | {} s |", http.request.count() / 1000),
           Format("| reading the response | {} s |", http.response.count() / 1000),
           Format("| between two requests | {} s |", http.idle.count() / 1000),
           Format("| responses that are being sent | {} in total,", Bytes(http.response_bytes)),
       }) {
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace patchbay
