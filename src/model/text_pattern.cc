#include "model/text_pattern.h"

#include <re2/re2.h>

#include <cstdint>

namespace patchbay {
namespace {

constexpr std::int64_t kMaxBytes = 1 << 20;
/// RE2 divides what it may use between the program, the reversed program and what it remembers of
/// matches, which needs a minimum.
constexpr std::int64_t kBytes = 32 << 10;
constexpr std::int64_t kBytesOfInstruction = 512;

}  // namespace

Parsed<std::shared_ptr<const re2::RE2>> CompileRe2(std::string_view pattern) {
  const auto compile = [pattern](std::int64_t max_bytes) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(max_bytes);
    return std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()),
                                            options);
  };
  auto re = compile(kMaxBytes);
  if (!re->ok()) {
    const auto at = pattern.find(re->error_arg());
    return Malformed(at == std::string_view::npos ? 0 : at, re->error());
  }
  const std::int64_t wanted = kBytes + kBytesOfInstruction * re->ProgramSize();
  if (wanted >= kMaxBytes) return re;
  auto smaller = compile(wanted);
  return smaller->ok() ? smaller : re;
}

Parsed<TextPattern> TextPattern::Compile(std::string_view pattern) {
  auto re = CompileRe2(pattern);
  if (!re) return tl::unexpected(std::move(re).error());
  TextPattern compiled;
  compiled.text_ = pattern;
  compiled.re_ = std::move(*re);
  return compiled;
}

bool TextPattern::Matches(std::string_view text) const {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *re_);
}

std::size_t TextPattern::memory() const {
  return static_cast<std::size_t>(re_->options().max_mem());
}

}  // namespace patchbay
