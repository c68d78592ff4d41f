#include "os/asio_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

namespace patchbay {

namespace asio = boost::asio;

struct AsioLoop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
};

namespace {

/// Shared by a subscription and its pending handler. Destroying the subscription clears `f`, so
/// that the handler does nothing.
struct Timer {
  Timer(asio::io_context& context, std::function<void()> function)
      : timer(context), f(std::move(function)) {}
  asio::steady_timer timer;
  std::function<void()> f;
};

struct Readable : std::enable_shared_from_this<Readable> {
  Readable(asio::io_context& context, int fd, std::function<void()> function)
      : descriptor(context, fd), f(std::move(function)) {}
  ~Readable() { descriptor.release(); }  // the caller owns the descriptor

  void Wait() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this()](const boost::system::error_code& error) {
                            if (error || !self->f) return;
                            // Call a copy, because the function may destroy its own subscription.
                            const auto call = self->f;
                            call();
                            if (self->f) self->Wait();
                          });
  }

  asio::posix::stream_descriptor descriptor;
  std::function<void()> f;
};

struct Signals : std::enable_shared_from_this<Signals> {
  Signals(asio::io_context& context, std::function<void(int)> function)
      : set(context), f(std::move(function)) {}

  void Wait() {
    set.async_wait([self = shared_from_this()](const boost::system::error_code& error, int number) {
      if (error || !self->f) return;
      const auto call = self->f;
      call(number);
      if (self->f) self->Wait();
    });
  }

  asio::signal_set set;
  std::function<void(int)> f;
};

}  // namespace

AsioLoop::AsioLoop() : impl_(std::make_shared<Impl>()) {}
AsioLoop::~AsioLoop() = default;

Loop::Time AsioLoop::Now() const { return Clock::now(); }

void AsioLoop::Post(std::function<void()> f) { asio::post(impl_->context, std::move(f)); }

Subscription AsioLoop::After(Duration delay, std::function<void()> f) {
  auto timer = std::make_shared<Timer>(impl_->context, std::move(f));
  timer->timer.expires_after(delay);
  timer->timer.async_wait([timer](const boost::system::error_code& error) {
    if (error || !timer->f) return;
    const auto call = std::exchange(timer->f, nullptr);
    call();
  });
  return Subscription([timer] {
    timer->f = nullptr;
    timer->timer.cancel();
  });
}

Subscription AsioLoop::OnReadable(int fd, std::function<void()> f) {
  auto readable = std::make_shared<Readable>(impl_->context, fd, std::move(f));
  readable->Wait();
  return Subscription([readable] {
    readable->f = nullptr;
    readable->descriptor.release();
  });
}

Subscription AsioLoop::OnSignals(const std::vector<int>& signals, std::function<void(int)> f) {
  auto watch = std::make_shared<Signals>(impl_->context, std::move(f));
  for (const int signal : signals) watch->set.add(signal);
  watch->Wait();
  return Subscription([watch] {
    watch->f = nullptr;
    watch->set.clear();
    watch->set.cancel();
  });
}

asio::io_context& AsioLoop::context() { return impl_->context; }

void AsioLoop::Run() {
  impl_->context.run();
  impl_->context.restart();
}
void AsioLoop::Stop() { impl_->context.stop(); }

}  // namespace patchbay
