#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <functional>
#include <utility>

#include "support/fake_loop.h"

namespace patchbay::test {

/// A FakeLoop with real sockets: its clock is virtual, and RunUntil waits for sockets and for
/// functions that other threads post. Everything runs on the thread of the test.
class NetLoop : public FakeLoop {
 public:
  boost::asio::io_context& io() { return io_; }

  void Post(std::function<void()> f) override {
    FakeLoop::Post(std::move(f));
    boost::asio::post(io_, [] {});  // ends the waiting of RunUntil
  }

  /// Runs until `done` holds. Returns false if nothing happened for `patience` of real time.
  template <class Predicate>
  bool RunUntil(Predicate done, std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    while (!done()) {
      if (RunPosted()) continue;
      if (io_.run_one_for(patience) == 0) return false;
    }
    return true;
  }

 private:
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
};

}  // namespace patchbay::test
