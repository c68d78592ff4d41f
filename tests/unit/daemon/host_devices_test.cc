#include "daemon/host_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "os/asio_loop.h"
#include "support/host_tree.h"
#include "support/run_loop.h"

namespace patchbay {
namespace {
