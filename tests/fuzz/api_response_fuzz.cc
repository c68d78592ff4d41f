// Input: a response of the API server. It is read at once and byte by byte, with the same result.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/escape.h"
#include "fuzz.h"
#include "kube/api_status.h"
#include "kube/response_reader.h"

using namespace patchbay;

namespace {

constexpr ResponseLimits kLimits{.header = 512, .body = 256, .body_of_error = 64};

struct Outcome {
  bool failed = false;
  bool done = false;
  unsigned status = 0;
  bool keeps_alive = false;
  std::string retry_after;
  std::string body;
  bool operator==(const Outcome&) const = default;
};

Outcome Read(std::string_view text, std::size_t part) {
  ResponseReader reader(kLimits);
  Outcome outcome;
  while (!text.empty() && !outcome.failed && !reader.is_done()) {
    const Status fed = reader.Feed(text.substr(0, part));
    text.remove_prefix(std::min(part, text.size()));
    outcome.failed = !fed;
    if (!fed) fuzz::Require(Printable(fed.error().message) == fed.error().message);
    outcome.body += reader.TakeBody();
  }
  if (!outcome.failed) outcome.failed = !reader.Finish();
  outcome.done = !outcome.failed && reader.is_done();
  fuzz::Require(outcome.failed || outcome.done);
  fuzz::Require(outcome.body.size() <= kLimits.body);
  if (!outcome.done) return {.failed = true};
  outcome.status = reader.status();
  fuzz::Require(outcome.status >= 200 && outcome.status <= 599);
  fuzz::Require(reader.is_success() || outcome.body.size() <= kLimits.body_of_error);
  // Bytes after the response have arrived only if it is read at once.
  outcome.keeps_alive = text.empty() && reader.keeps_alive();
  outcome.retry_after = reader.retry_after();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  const Outcome outcome = Read(text, std::max<std::size_t>(size, 1));
  fuzz::Require(Read(text, 1) == outcome);
  if (!outcome.done) return 0;
  const ApiError error = ErrorOfResponse(outcome.status, outcome.retry_after, outcome.body);
  fuzz::Require(Printable(error.message) == error.message && error.message.size() < 8192);
  fuzz::Require(!error.retry_after || *error.retry_after <= kMaxRetryAfter);
  return 0;
}
