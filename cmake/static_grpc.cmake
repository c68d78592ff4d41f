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

# Parts of OpenSSL that a client of an API server links but seldom runs: servers, DTLS, encoders of keys, algorithms that
# API servers seldom choose, and variants for many messages at once. They lie together in the program, apart from the
# code that runs, so the kernel seldom maps them. Each entry is the beginning of names of objects. To see which objects
# run, profile the daemon with a resource of api = "dra" (valgrind --tool=callgrind).
set(PATCHBAY_SELDOM_RUN_OPENSSL
  aesni-mb aria blake2 bn_gf2m bsaes camellia cfb64ede chacha-x86 cmll cms_ curve448 d1_lib des_enc e_padlock ec2_
  ecp_nistp224 ecp_nistp521 ecx_meth encode_key2 extensions_srvr ffc_params_generate http_client md4 mdc2 ocsp_ p12_ pk7_
  pvkfmt rc2 rc4 rec_layer_d1 rmd_ scrypt sha1-mb sha256-mb sm2_ sm3 sm4 srp_ statem_dtls statem_srvr store_lib t_x509
  ts_ ui_ whrlpool wp-)

# patchbay_arrange_openssl(<target>...): takes copies of the archives of OpenSSL, with these parts in a section of their
# own, and without unwind tables, because no exception passes through C. scripts/third-party finds the package of a copy
# by its path in archives/.
function(patchbay_arrange_openssl)
  string(REPLACE ";" "|" seldom_run "${PATCHBAY_SELDOM_RUN_OPENSSL}")
  # An update of the package has an older archive than the last configuration, but not an older list.
  file(GLOB packages /var/lib/dpkg/info/libssl-dev*.list)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${packages})
  foreach(target ${ARGN})
    get_target_property(archive ${target} IMPORTED_LOCATION)
    set(copy ${PROJECT_BINARY_DIR}/archives${archive})
    set(members ${copy}.members)
    file(REMOVE_RECURSE ${members})
    file(MAKE_DIRECTORY ${members})
    execute_process(COMMAND ${CMAKE_OBJCOPY} --remove-section=.eh_frame --remove-section=.rela.eh_frame ${archive} ${copy}.new
                    COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${CMAKE_AR} t ${copy}.new OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]+-lib-(${seldom_run})[^\n]*\\.o" names "${names}")
    list(FILTER names EXCLUDE REGEX "_err\\.o$")  # all of them run when the first error occurs
    if(NOT names)
      message(FATAL_ERROR "the objects in ${archive} have other names; see PATCHBAY_SELDOM_RUN_OPENSSL")
    endif()
    execute_process(COMMAND ${CMAKE_AR} x ${copy}.new ${names} WORKING_DIRECTORY ${members} COMMAND_ERROR_IS_FATAL ANY)
    foreach(name ${names})
      execute_process(COMMAND ${CMAKE_OBJCOPY} --rename-section .text=.text.unlikely ${name}
                      WORKING_DIRECTORY ${members} COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    execute_process(COMMAND ${CMAKE_AR} r ${copy}.new ${names} WORKING_DIRECTORY ${members} COMMAND_ERROR_IS_FATAL ANY)
    file(COPY_FILE ${copy}.new ${copy} ONLY_IF_DIFFERENT)  # otherwise each configuration links again
    file(REMOVE ${copy}.new)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${copy})
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
  endforeach()
endfunction()

# gRPC refers to it as "-lre2".
set_target_properties(re2::re2 PROPERTIES INTERFACE_LINK_LIBRARIES PkgConfig::RE2)
# Patchbay uses gRPC only over Unix sockets, without TLS. OpenSSL is for the client of the API server.
set(PATCHBAY_GRPC gRPC::grpc++_unsecure)
# Messages without the names of their fields, which only tests need.
set(PATCHBAY_PROTOBUF protobuf::libprotobuf-lite)
set(PATCHBAY_CPP_OUT lite:)
# These have no archive, but their headers are sufficient.
set(PATCHBAY_SPDLOG spdlog::spdlog_header_only)
set(PATCHBAY_FMT fmt::fmt-header-only)
patchbay_use_archives(${PATCHBAY_GRPC} ${PATCHBAY_PROTOBUF} OpenSSL::SSL OpenSSL::Crypto yaml-cpp ZLIB::ZLIB)
patchbay_arrange_openssl(OpenSSL::SSL OpenSSL::Crypto)
