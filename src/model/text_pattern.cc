#include "model/text_pattern.h"

#include <re2/re2.h>

namespace patchbay {

Parsed<std::shared_ptr<const re2::RE2>> CompileRe2(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto re =
      std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (re->ok()) return re;
  const auto at = pattern.find(re->error_arg());
  return Malformed(at == std::string_view::npos ? 0 : at, re->error());
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

}  // namespace patchbay
