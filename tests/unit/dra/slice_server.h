#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/tls_server.h"

namespace patchbay::test {

/// The part of the API server that the publisher of slices uses: one node, and ResourceSlices with
/// LIST, WATCH, POST, PUT with conflicts, DELETE and dryRun. Handles the requests of a TlsServer.
class SliceServer {
 public:
  using Json = nlohmann::json;

  static constexpr std::string_view kSlices = "/apis/resource.k8s.io/v1/resourceslices";

  /// Overrides the reply to a request.
  std::function<std::optional<Reply>(const ServerRequest&)> fault = {};
  /// Fields of devices that are dropped, as if the features were off.
  bool drops_taints = false;
  bool drops_sharing = false;

  Reply Handle(const ServerRequest& request, const std::function<void(const std::string&)>& more) {
    namespace http = boost::beast::http;
    const std::string target(request.target());
    if (fault) {
      if (auto reply = fault(request)) return *std::move(reply);
    }
    if (target == "/api/v1/nodes/node-1") {
      return JsonReply(200, R"({"kind":"Node","metadata":{"name":"node-1","uid":"node-uid"}})");
    }
    if (request.method() == http::verb::get && target.find("watch=true") != std::string::npos) {
      watchers_.push_back(more);
      return {kChunkedHeader};
    }
    if (request.method() == http::verb::get) return List();
    const Json body = Json::parse(request.body());
    const std::string name = target.substr(std::min(target.size(), kSlices.size() + 1));
    if (request.method() == http::verb::post) return Create(body, target);
    if (!slices_.contains(name)) return Failure(404, "NotFound");
    if (request.method() == http::verb::delete_) {
      if (body["preconditions"].value("resourceVersion", Version(name)) != Version(name)) {
        return Failure(409, "Conflict");
      }
      Delete(name);
      return JsonReply(200, R"({"kind":"Status","status":"Success"})");
    }
    if (body["metadata"]["resourceVersion"] != Version(name)) return Failure(409, "Conflict");
    Store(name, body, "MODIFIED");
    return JsonReply(200, slices_[name].dump());
  }

  /// Changes a slice like another client.
  void Edit(const std::string& name, const std::function<void(Json&)>& edit) {
    Json changed = slices_.at(name);
    edit(changed);
    Store(name, changed, "MODIFIED");
  }
  void Add(const std::string& name, const Json& slice) { Store(name, slice, "ADDED"); }
  void Delete(const std::string& name) {
    Json last = slices_.at(name);
    last["metadata"]["resourceVersion"] = std::to_string(++version_);
    slices_.erase(name);
    Send("DELETED", last);
  }
  void DeleteAll() {
    while (!slices_.empty()) Delete(slices_.begin()->first);
  }

  const std::map<std::string, Json>& slices() const { return slices_; }
  /// The names of all devices, by the names of slices.
  std::vector<std::string> Devices() const {
    std::vector<std::string> names;
    for (const auto& [name, slice] : slices_) {
      for (const Json& device : slice["spec"]["devices"]) names.push_back(device["name"]);
    }
    return names;
  }

 private:
  static Reply Failure(int status, const std::string& reason) {
    return JsonReply(status, Json{{"kind", "Status"}, {"code", status}, {"reason", reason}}.dump());
  }
  std::string Version(const std::string& name) const {
    return slices_.at(name)["metadata"]["resourceVersion"];
  }

  Reply List() const {
    Json items = Json::array();
    for (const auto& [name, slice] : slices_) items.push_back(slice);
    return JsonReply(200, Json{{"kind", "ResourceSliceList"},
                               {"metadata", {{"resourceVersion", std::to_string(version_)}}},
                               {"items", items}}
                              .dump());
  }

  Reply Create(Json body, const std::string& target) {
    const std::string prefix = body["metadata"]["generateName"];
    const std::string name = prefix + std::to_string(++created_);
    body["metadata"].erase("generateName");
    if (target.find("dryRun=All") == std::string::npos) {
      Store(name, body, "ADDED");
      return JsonReply(201, slices_[name].dump());
    }
    Drop(body);
    body["metadata"]["name"] = name;
    body["metadata"]["uid"] = "unstored";
    return JsonReply(201, body.dump());
  }

  void Drop(Json& slice) const {
    for (Json& device : slice["spec"]["devices"]) {
      if (drops_taints) device.erase("taints");
      if (drops_sharing) device.erase("allowMultipleAllocations");
    }
  }

  void Store(const std::string& name, Json slice, const std::string& type) {
    Drop(slice);
    const bool is_new = !slices_.contains(name);
    Json& metadata = slice["metadata"];
    metadata["uid"] = is_new ? "uid-" + std::to_string(version_)
                             : slices_[name]["metadata"]["uid"].get<std::string>();
    metadata["name"] = name;
    metadata["resourceVersion"] = std::to_string(++version_);
    slices_[name] = slice;
    Send(type, slice);
  }

  void Send(const std::string& type, const Json& slice) {
    const std::string line = Json{{"type", type}, {"object", slice}}.dump() + "\n";
    for (const auto& watcher : watchers_) watcher(Chunk(line));
  }

  std::map<std::string, Json> slices_;
  std::vector<std::function<void(const std::string&)>> watchers_;
  std::uint64_t version_ = 100;
  int created_ = 0;
};

}  // namespace patchbay::test
