# gRPC, what it needs, yaml-cpp and zlib, from the archives that Debian ships beside the shared libraries. Include it
# when everything was found. What has no archive, libudev and prometheus-cpp for two, stays shared.

# patchbay_archive_of(<out> <file>): the archive beside a shared library; another file stays as it is.
function(patchbay_archive_of out file)
  if(file MATCHES "^(/.*)\\.so[.0-9]*$")
    set(file ${CMAKE_MATCH_1}.a)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "PATCHBAY_STATIC_GRPC needs ${file}")
    endif()
  endif()
  set(${out} ${file} PARENT_SCOPE)
endfunction()

# patchbay_use_archives(<target>...): makes imported targets, and all that they link, archives.
function(patchbay_use_archives)
  foreach(target ${ARGN})
    get_property(done GLOBAL PROPERTY patchbay_archives)
    if(NOT TARGET ${target} OR target IN_LIST done)
      continue()
    endif()
    set_property(GLOBAL APPEND PROPERTY patchbay_archives ${target})
    foreach(property IMPORTED_LOCATION IMPORTED_LOCATION_NONE IMPORTED_LOCATION_RELEASE)
      get_target_property(location ${target} ${property})
      if(location)
        patchbay_archive_of(archive ${location})
        set_target_properties(${target} PROPERTIES ${property} ${archive})
      endif()
    endforeach()
    get_target_property(linked ${target} INTERFACE_LINK_LIBRARIES)
    set(archives)
    foreach(library ${linked})
      if(library)
        patchbay_archive_of(library ${library})
        list(APPEND archives ${library})
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${archives}")
    patchbay_use_archives(${archives})
  endforeach()
endfunction()

# gRPC knows it as "-lre2" only.
set_target_properties(re2::re2 PROPERTIES INTERFACE_LINK_LIBRARIES PkgConfig::RE2)
# All that Patchbay talks gRPC to is sockets of the node: TLS would be 7 MB of program that never runs.
set(PATCHBAY_GRPC gRPC::grpc++_unsecure)
# Messages that do not know the names of their fields, which only tests ask for.
set(PATCHBAY_PROTOBUF protobuf::libprotobuf-lite)
set(PATCHBAY_CPP_OUT lite:)
# These have no archive, but their headers will do.
set(PATCHBAY_SPDLOG spdlog::spdlog_header_only)
set(PATCHBAY_FMT fmt::fmt-header-only)
patchbay_use_archives(${PATCHBAY_GRPC} ${PATCHBAY_PROTOBUF} yaml-cpp ZLIB::ZLIB)
