#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/api_server/server_state.h"
#include "support/tls_server.h"

namespace patchbay::test {

/// The built-in API server with a node and without connections of its own: it handles the requests
/// of a TlsServer, on the thread of the test.
class SliceServer final : public api_sim::ServerState {
 public:
  using Json = nlohmann::json;

  inline static const std::string kSlices = "/apis/resource.k8s.io/v1/resourceslices";

  SliceServer() : ServerState(api_sim::ApiProfile::k1_36, {}) {
    Require("POST", "/api/v1/nodes", {{"metadata", {{"name", "node-1"}}}});
  }

  /// Overrides the reply to a request.
  std::function<std::optional<Reply>(const ServerRequest&)> fault = {};
  /// Fields of devices that are dropped, as if the features were off.
  bool drops_taints = false;
  bool drops_sharing = false;

  Reply Handle(const ServerRequest& request, const std::function<void(const std::string&)>& more) {
    if (fault) {
      if (auto reply = fault(request)) return *std::move(reply);
    }
    const api_sim::Outcome outcome = Serve({.method = std::string(request.method_string()),
                                            .target = std::string(request.target()),
                                            .body = Drop(request.body()),
                                            .content_type = std::string(request["Content-Type"])},
                                           "");
    if (!outcome.watch) return JsonReply(outcome.response.status, outcome.response.body);
    watches_.emplace_back(*outcome.watch, more);
    return {kChunkedHeader + Events(watches_.back().first)};
  }

  /// Changes a slice like another client.
  void Edit(const std::string& name, const std::function<void(Json&)>& edit) {
    Json changed = slices().at(name);
    edit(changed);
    Require("PUT", kSlices + "/" + name, changed);
  }
  void Add(const std::string& name, Json slice) {
    slice["metadata"] = {{"name", name}};
    Require("POST", kSlices, slice);
  }
  void Delete(const std::string& name) { Require("DELETE", kSlices + "/" + name); }
  void DeleteAll() { Require("DELETE", kSlices); }
  /// The number of events of all watches.
  std::uint64_t events_sent() const { return events_sent_; }

  Json List() { return Require("GET", kSlices); }
  std::map<std::string, Json> slices() {
    std::map<std::string, Json> slices;
    const Json list = List();
    for (const Json& slice : list["items"]) slices[slice["metadata"]["name"]] = slice;
    return slices;
  }
  /// The names of all devices, by the names of slices.
  std::vector<std::string> Devices() {
    std::vector<std::string> names;
    for (const auto& [name, slice] : slices()) {
      for (const Json& device : slice["spec"].value("devices", Json::array())) {
        names.push_back(device["name"]);
      }
    }
    return names;
  }

 private:
  Json Require(const std::string& method, const std::string& target, const Json& body = {}) {
    const auto response = Call(method, target, body);
    EXPECT_LT(response.status, 300) << method << ' ' << target << ": " << response.body;
    return Json::parse(response.body);
  }

  std::string Drop(const std::string& body) const {
    if (body.empty() || (!drops_taints && !drops_sharing)) return body;
    Json object = Json::parse(body);
    for (Json& device : object["spec"]["devices"]) {
      if (drops_taints) device.erase("taints");
      if (drops_sharing) device.erase("allowMultipleAllocations");
    }
    return object.dump();
  }

  std::string Events(api_sim::WatchCursor& watch) {
    std::string chunks;
    for (const std::string& line : Read(watch)) {
      chunks += Chunk(line);
      ++events_sent_;
    }
    return chunks;
  }
  void OnChange() override {
    for (auto& [watch, more] : watches_) {
      if (const std::string events = Events(watch); !events.empty()) more(events);
    }
  }

  std::vector<std::pair<api_sim::WatchCursor, std::function<void(const std::string&)>>> watches_;
  std::uint64_t events_sent_ = 0;
};

}  // namespace patchbay::test
