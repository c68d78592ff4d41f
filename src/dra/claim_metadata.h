#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dra/claim.h"
#include "dra/served_resource.h"

namespace patchbay {

/// The metadata of the devices of a claim, which programs in its containers and KubeVirt read
/// (kubernetes/enhancements KEP-5304; format and paths of kubernetes/dynamic-resource-allocation
/// api/metadata and kubeletplugin/metadata.go, 1.36). Each request has a file, which its CDI device
/// mounts. All functions are pure.

/// The directory of the metadata in containers.
inline constexpr std::string_view kMetadataDirectory =
    "/var/run/kubernetes.io/dra-device-attributes/";

/// Returns the name of the file of a request, below the directory of the metadata of all claims.
std::string MetadataFileName(std::string_view uid, std::string_view request);

/// Returns the files for the requests of a plan, with the attributes that its devices have in
/// ResourceSlices, and the interfaces that move. `responses` has the response of Allocate to each
/// request. A resource that is not served has none.
std::vector<ClaimMetadata> MetadataOf(const PreparedClaim& plan, std::string_view driver,
                                      const ServedResources& resources,
                                      std::span<const ContainerResponse> responses);

/// Returns the path of the file of a request in containers.
std::string MetadataPathInContainer(const PreparedClaim& plan, std::string_view request,
                                    std::string_view driver);

}  // namespace patchbay
