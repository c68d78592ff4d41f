# Every folder of src/ is a room: one static library patchbay::<room>, made of all its sources. Those of sim/ are the
# rooms sim/<folder>, whose libraries are patchbay::sim_<folder>.

add_library(patchbay_options INTERFACE)
target_include_directories(patchbay_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(patchbay_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # wrong about string concatenation in GCC 12 (bug 105651)
  $<$<BOOL:${PATCHBAY_WERROR}>:-Werror>)
if(PATCHBAY_SANITIZE)
  target_compile_options(patchbay_options INTERFACE
    -fsanitize=${PATCHBAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(PATCHBAY_SANITIZE MATCHES "undefined")
    # Clang 14 cannot emit its signatures of functions for coroutines.
    target_compile_options(patchbay_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  endif()
  target_link_options(patchbay_options INTERFACE -fsanitize=${PATCHBAY_SANITIZE})
  if(PATCHBAY_SANITIZE STREQUAL "thread")
    # Protobuf's maps have another member under this sanitizer, but not in Debian's library. The standard
    # library needs the macro, and Asio must not use fences, which the sanitizer does not support.
    target_compile_options(patchbay_options INTERFACE
      -U__SANITIZE_THREAD__ -D_GLIBCXX_TSAN=1 -DBOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()

# patchbay_room(<room> FLOOR <number> [NO_THREADS] ROOMS <rooms below> HEADERS <third-party headers>
# LIBRARIES <third-party targets>). tests/floors.py reads FLOOR, NO_THREADS, ROOMS and HEADERS. Adds the room to the
# global property PATCHBAY_ROOMS, and to PATCHBAY_ROOMS_WITH_THREADS unless it has none.
function(patchbay_room room)
  cmake_parse_arguments(arg "NO_THREADS" "FLOOR" "ROOMS;HEADERS;LIBRARIES" ${ARGN})
  get_filename_component(folder ${room} NAME)
  string(REPLACE / _ name ${room})
  set_property(GLOBAL APPEND PROPERTY PATCHBAY_ROOMS ${name})
  if(NOT arg_NO_THREADS)
    set_property(GLOBAL APPEND PROPERTY PATCHBAY_ROOMS_WITH_THREADS ${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc
       ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*/*.cc)
  add_library(patchbay_${name} STATIC ${sources})
  add_library(patchbay::${name} ALIAS patchbay_${name})
  string(REPLACE / _ below "${arg_ROOMS}")
  list(TRANSFORM below PREPEND patchbay::)
  target_link_libraries(patchbay_${name} PUBLIC patchbay_options ${below} ${arg_LIBRARIES})
endfunction()

# patchbay_link_map(<program>): writes <program>.map, in which scripts/third-party reads the archives that the program
# has parts of.
function(patchbay_link_map program)
  target_link_options(${program} PRIVATE -Wl,-Map=$<TARGET_FILE:${program}>.map)
endfunction()
