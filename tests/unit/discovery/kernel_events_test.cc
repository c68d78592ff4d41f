#include "discovery/kernel_events.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "os/asio_loop.h"
#include "os/unique_fd.h"
#include "support/fake_loop.h"

namespace patchbay {
namespace {

constexpr std::chrono::seconds kPatience{10};

/// A real block device that is added and removed: a loop device with an unused number.
class LoopDevice {
 public:
  LoopDevice() : control_(open("/dev/loop-control", O_RDWR | O_CLOEXEC)) {
    if (!control_) {
      why_not_ = std::string("/dev/loop-control: ") + std::strerror(errno);
    } else if (access("/sys/class/block", F_OK) != 0) {
      why_not_ = "there is no sysfs";
    }
    for (long number = 1000 + getpid() % 1000; why_not_.empty() && number_ < 0; ++number) {
      number_ = ioctl(control_.get(), LOOP_CTL_ADD, number);
      if (number_ < 0 && errno != EEXIST) why_not_ = std::strerror(errno);
    }
  }
  ~LoopDevice() { Remove(); }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;

  void Remove() {
    if (number_ >= 0) ioctl(control_.get(), LOOP_CTL_REMOVE, long{number_});
    number_ = -1;
  }
  /// Makes the kernel send `times` "change" events of the device. Returns how many it sent.
  int Change(int times) const {
    const UniqueFd uevent(open((syspath() + "/uevent").c_str(), O_WRONLY | O_CLOEXEC));
    int done = 0;
    while (done < times && write(uevent.get(), "change", 6) == 6) ++done;
    return done;
  }

  std::string syspath() const {
    return "/sys/devices/virtual/block/loop" + std::to_string(number_);
  }
  /// Empty if there is a device.
  const std::string& why_not() const { return why_not_; }

 private:
  UniqueFd control_;
  int number_ = -1;
  std::string why_not_;
};

class KernelEventsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const LoopDevice device;
    why_not_ = device.why_not();
  }
  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << "cannot create a loop device here: " << why_not_;
  }

  void Listen() {
    auto events = KernelEvents::Create(
        loop_, [this](const KernelEvent& event) { received_.push_back(event); });
    ASSERT_TRUE(events) << events.error().message;
    events_ = std::move(*events);
  }
  /// Waits for an event of a block device.
  bool Receives(std::string_view action, const std::string& syspath) {
    const auto is_expected = [&](const KernelEvent& event) {
      return !event.lost && event.action == action && event.subsystem == "block" &&
             event.syspath == syspath;
    };
    while (std::none_of(received_.begin(), received_.end(), is_expected)) {
      received_.clear();
      if (!loop_.RunReadable(kPatience)) return false;
    }
    return true;
  }

  static inline std::string why_not_;
  test::FakeLoop loop_;
  std::vector<KernelEvent> received_;
  std::unique_ptr<KernelEvents> events_;
};

TEST_F(KernelEventsTest, ReportsAddChangeAndRemove) {
  Listen();
  LoopDevice device;
  ASSERT_EQ(device.why_not(), "");
  const std::string syspath = device.syspath();
  EXPECT_TRUE(Receives("add", syspath));
  ASSERT_EQ(device.Change(1), 1);
  EXPECT_TRUE(Receives("change", syspath));
  device.Remove();
  EXPECT_TRUE(Receives("remove", syspath));
}

TEST_F(KernelEventsTest, NeedsNoPrivilege) {
  const bool was_root = geteuid() == 0;
  ASSERT_TRUE(!was_root || seteuid(65534) == 0);
  Listen();
  ASSERT_TRUE(!was_root || seteuid(0) == 0);
  const LoopDevice device;
  EXPECT_TRUE(Receives("add", device.syspath()));
}

TEST_F(KernelEventsTest, ReceivesEventsInANetworkNamespace) {
  bool moved = false;
  std::thread([&] {
    moved = unshare(CLONE_NEWNET) == 0;
    if (moved) Listen();
  }).join();
  if (!moved) GTEST_SKIP() << "cannot create a network namespace";
  ASSERT_TRUE(events_);
  const LoopDevice device;
  EXPECT_TRUE(Receives("add", device.syspath()));
}

TEST_F(KernelEventsTest, HandlesAtMostMaxAtOnceEventsPerTurn) {
  Listen();
  const LoopDevice device;
  ASSERT_EQ(device.Change(KernelEvents::kMaxAtOnce * 2), KernelEvents::kMaxAtOnce * 2);
  ASSERT_TRUE(loop_.RunReadable(kPatience));
  EXPECT_EQ(received_.size(), static_cast<std::size_t>(KernelEvents::kMaxAtOnce));
  ASSERT_TRUE(loop_.RunReadable(kPatience)) << "the rest is handled in the next call";
}

TEST_F(KernelEventsTest, ReportsLostEvents) {
  Listen();
  const LoopDevice device;
  constexpr int kStorm = 20'000;  // more than any socket buffer
  ASSERT_EQ(device.Change(kStorm), kStorm);
  const auto lost = [&] {
    return std::find_if(received_.begin(), received_.end(),
                        [](const auto& event) { return event.lost; });
  };
  while (lost() == received_.end() && loop_.RunReadable()) {
  }
  ASSERT_NE(lost(), received_.end());
  EXPECT_EQ(lost()->action + lost()->subsystem + lost()->syspath, "");
  // It continues to receive events.
  while (loop_.RunReadable()) {
  }
  received_.clear();
  ASSERT_EQ(device.Change(1), 1);
  EXPECT_TRUE(Receives("change", device.syspath()));
}

TEST_F(KernelEventsTest, RunsOnTheRealLoop) {
  AsioLoop loop;
  const LoopDevice device;
  int received = 0;
  constexpr int kChanges = KernelEvents::kMaxAtOnce + 10;  // more than one batch
  const auto events = KernelEvents::Create(loop, [&](const KernelEvent& event) {
    received += event.syspath == device.syspath() && event.action == "change" ? 1 : 0;
    if (received == kChanges) loop.Stop();
  });
  ASSERT_TRUE(events) << events.error().message;
  const Subscription late = loop.After(kPatience, [&] { loop.Stop(); });
  ASSERT_EQ(device.Change(kChanges), kChanges);
  loop.Run();
  EXPECT_EQ(received, kChanges);
}

TEST_F(KernelEventsTest, ReportsNothingAfterDestruction) {
  Listen();
  const LoopDevice device;
  events_.reset();
  EXPECT_FALSE(loop_.RunReadable());
  EXPECT_TRUE(received_.empty());
}

}  // namespace
}  // namespace patchbay
