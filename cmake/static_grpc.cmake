# Links gRPC, its dependencies, OpenSSL, yaml-cpp and zlib from the archives that Debian ships with the shared
# libraries.
# Include it after all find_package calls. Libraries without an archive, such as libudev and prometheus-cpp, stay shared.

# patchbay_archive_of(<out> <file>): the archive of a shared library; other files stay as they are.
function(patchbay_archive_of out file)
  if(file MATCHES "^(/.*)\\.so[.0-9]*$")
    set(file ${CMAKE_MATCH_1}.a)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "PATCHBAY_STATIC_GRPC needs ${file}")
    endif()
  endif()
  set(${out} ${file} PARENT_SCOPE)
endfunction()

# patchbay_use_archives(<target>...): makes imported targets, and their dependencies, archives.
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

# gRPC refers to it as "-lre2".
set_target_properties(re2::re2 PROPERTIES INTERFACE_LINK_LIBRARIES PkgConfig::RE2)
# Patchbay uses gRPC only over Unix sockets, without TLS. OpenSSL is for the client of the API server.
set(PATCHBAY_GRPC gRPC::grpc++_unsecure)
# These have no archive, but their headers are sufficient.
set(PATCHBAY_SPDLOG spdlog::spdlog_header_only)
set(PATCHBAY_FMT fmt::fmt-header-only)
patchbay_use_archives(${PATCHBAY_GRPC} ${PATCHBAY_PROTOBUF} OpenSSL::SSL OpenSSL::Crypto yaml-cpp ZLIB::ZLIB)
