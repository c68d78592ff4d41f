#include "inventory/pacer.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using std::chrono::milliseconds;

Pacer::Time At(int ms) { return Pacer::Time(std::chrono::hours(1)) + milliseconds(ms); }

TEST(Pacer, SendsAtOnceAfterAQuietInterval) {
  Pacer pacer(milliseconds(1000));
  EXPECT_EQ(pacer.Next(At(5)), At(5)) << "nothing was ever sent";
  pacer.Sent(At(10));
  struct Case {
    int changed, sent;
  };
  const Case cases[] = {{10, 1010},   {11, 1010},   {500, 1010}, {1009, 1010},
                        {1010, 1010}, {1011, 1011}, {9999, 9999}};
  for (const Case& c : cases) EXPECT_EQ(pacer.Next(At(c.changed)), At(c.sent)) << c.changed;
}

TEST(Pacer, AFlappingDeviceIsSentOnceAnInterval) {
  Pacer pacer(milliseconds(1000));
  pacer.Sent(At(-1000));
  int sent = 0;
  for (int ms = 0; ms < 10'000; ms += 20) {
    if (pacer.Next(At(ms)) > At(ms)) continue;
    pacer.Sent(At(ms));
    ++sent;
  }
  EXPECT_EQ(sent, 10);
}

TEST(Pacer, AnIntervalOfNothingHoldsNothingBack) {
  Pacer pacer(milliseconds(0));
  pacer.Sent(At(1));
  EXPECT_EQ(pacer.Next(At(1)), At(1));
}

}  // namespace
}  // namespace patchbay
