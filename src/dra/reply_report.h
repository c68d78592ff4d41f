#pragma once

#include <memory>
#include <utility>

#include "dra/driver_observer.h"
#include "rpc/unary_reply.h"

namespace patchbay {

/// Returns a function that reports the end of a call to the observer.
inline UnaryReply::OnEnd ReportTo(std::shared_ptr<DriverObserver> observer, DriverRpc rpc) {
  return [observer = std::move(observer), rpc](std::string_view code,
                                               std::chrono::nanoseconds duration) {
    observer->OnRpc(rpc, code, duration);
  };
}

}  // namespace patchbay
