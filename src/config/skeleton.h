#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/template.h"

namespace patchbay {

/// The text of a template as far as it is known before a device is: its literal text, with one
/// kField byte in the place of every variable. What can be checked of names and paths at load time
/// is checked on this.
struct Skeleton {
  static constexpr char kField = '\x01';

  std::string text;
  std::vector<std::size_t> offsets;     ///< of every byte of `text` in the template
  std::vector<std::string_view> names;  ///< of the variables, in order; views of the template
};

/// The skeleton of `compiled`, which must outlive it.
Skeleton SkeletonOf(const Template& compiled);

/// The skeleton of a text that is no template.
Skeleton LiteralSkeleton(std::string_view text);

}  // namespace patchbay
