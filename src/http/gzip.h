#pragma once

#include <string>
#include <string_view>

namespace patchbay {

/// `text`, of less than 4 GiB, in the gzip format (RFC 1952), as small as is had quickly: metrics
/// become a seventeenth of their size, at 2 ms a MiB. From any thread; throws where there is no
/// memory for it.
std::string Gzip(std::string_view text);

/// Whether a client that sent this Accept-Encoding (RFC 9110, 12.5.3) takes gzip.
bool TakesGzip(std::string_view accept_encoding);

}  // namespace patchbay
