# Files that `cmake --install` installs, below any prefix. The configuration in /etc and other files of the Debian
# package are the component `debian`, which is installed only on request.
include(GNUInstallDirs)

install(TARGETS patchbay patchbay-try RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# The prefix is known only at installation.
set(unit ${PROJECT_BINARY_DIR}/patchbay.service)
install(CODE "
  set(BINDIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  configure_file(\"${PROJECT_SOURCE_DIR}/deploy/systemd/patchbay.service.in\" \"${unit}\" @ONLY)")
install(FILES ${unit} DESTINATION lib/systemd/system)

install(FILES deploy/completions/patchbay.bash RENAME patchbay
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
set(PATCHBAY_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions CACHE STRING
    "Where zsh looks for completions of packages")
install(FILES deploy/completions/_patchbay DESTINATION ${PATCHBAY_ZSH_DIR})
install(FILES deploy/completions/patchbay.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Without the link to the schema, which would dangle there.
install(DIRECTORY examples/configs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
        PATTERN patchbay.schema.json EXCLUDE)
install(FILES patchbay.schema.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES dashboards/alerts.yaml dashboards/patchbay-node.json dashboards/patchbay-overview.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/patchbay)

# Generated texts have the date of the commit, so that builds are reproducible.
execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} log -1 --format=%ct
                OUTPUT_VARIABLE PATCHBAY_EPOCH OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  set(PATCHBAY_EPOCH $ENV{SOURCE_DATE_EPOCH})
elseif(NOT PATCHBAY_EPOCH)
  set(PATCHBAY_EPOCH 0)
endif()

# The libraries of the program are known after it is linked, so they are listed at the installation.
find_program(DPKG dpkg)
if(DPKG)
  set(third_party ${PROJECT_BINARY_DIR}/third-party)
  install(CODE "
    execute_process(COMMAND \"${CMAKE_COMMAND}\" -E env SOURCE_DATE_EPOCH=${PATCHBAY_EPOCH}
                            \"${PROJECT_SOURCE_DIR}/scripts/third-party\" \"${PROJECT_BINARY_DIR}\" \"${third_party}\"
                    COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${third_party}/NOTICES.gz ${third_party}/sbom.cdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
else()
  message(STATUS "dpkg is not installed: the notices of the libraries are left out")
endif()

find_program(SCDOC scdoc)
if(SCDOC)
  set(pages)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man)
  foreach(page patchbay.1 patchbay.toml.5)
    string(REGEX MATCH "[0-9]$" section ${page})
    set(source ${PROJECT_SOURCE_DIR}/docs/man/${page}.scd)
    set(built ${PROJECT_BINARY_DIR}/man/${page}.gz)
    add_custom_command(OUTPUT ${built}
      COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${PATCHBAY_EPOCH}
              sh -ec "${SCDOC} <${source} >${page} && gzip -9nf ${page}"
      WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/man DEPENDS ${source} VERBATIM)
    list(APPEND pages ${built})
    install(FILES ${built} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endforeach()
  add_custom_target(man ALL DEPENDS ${pages})
else()
  message(STATUS "scdoc is not installed: the man pages are left out")
endif()
