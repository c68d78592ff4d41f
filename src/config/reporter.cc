#include "config/reporter.h"

#include "base/format.h"

namespace patchbay {

void Reporter::Report(Code code, const SourceLocation& place, std::string message,
                      std::string hint) {
  const Severity severity = InfoOf(code).severity;
  int& count = severity == Severity::kError ? errors_ : warnings_;
  if (count > kMaxFindings) return;
  if (count++ == kMaxFindings) {
    code = Code::kTooManyFindings;
    message = Format("more than {} {}s; the rest is not shown", kMaxFindings, Name(severity));
    hint = "fix these first";
  }
  diagnostics_.Add({severity, InfoOf(code).name, place, std::move(message), std::move(hint)});
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates,
                       std::string otherwise) {
  const std::string_view nearest = Nearest(word, candidates);
  return nearest.empty() ? std::move(otherwise) : Format("did you mean `{}`?", nearest);
}

std::string OneOf(std::span<const std::string_view> words, char quote) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += Format("{0}{1}{0}", quote, words[i]);
  }
  return out;
}

std::string Where(const SourceLocation& place) { return Format("{}:{}", place.file, place.line); }

}  // namespace patchbay
