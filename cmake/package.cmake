# `cpack` in a build directory makes the Debian package. Needs dpkg-dev and file; docs/package.md describes
# its installation.
set(debian ${PROJECT_SOURCE_DIR}/deploy/debian)
set(built ${PROJECT_BINARY_DIR}/debian)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME patchbay)
set(CPACK_PACKAGE_CONTACT "Patchbay maintainers <maintainers@patchbay.dev>" CACHE STRING
    "The maintainer that the package names")
set(CPACK_PACKAGE_HOMEPAGE_URL https://github.com/patchbay/patchbay)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

# Paths below /etc are absolute, so everything is installed below a DESTDIR.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_CMAKE_PROJECTS
    "${PROJECT_BINARY_DIR};patchbay;ALL;/;${PROJECT_BINARY_DIR};patchbay;debian;/")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
if(PATCHBAY_MACHINE)  # default: the build machine
  string(REPLACE "aarch64" "arm64" CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${PATCHBAY_MACHINE})
  string(REPLACE "x86_64" "amd64" CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${CPACK_DEBIAN_PACKAGE_ARCHITECTURE})
endif()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Kubernetes device plugin for any device a node has
Gives containers on Kubernetes serial ports, cameras, FPGAs, network
interfaces, sound cards, disks and any other device of a node. A TOML file
names resources and the devices that belong to each; every entry becomes a
device plugin registered with the kubelet.

This package is for nodes on which it runs as a service of systemd rather
than in a DaemonSet.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)

# Debian has its own names for the license and the two changelogs.
execute_process(COMMAND date -R -u -d @${PATCHBAY_EPOCH}
                OUTPUT_VARIABLE PATCHBAY_DATE OUTPUT_STRIP_TRAILING_WHITESPACE)
configure_file(${debian}/changelog.in ${built}/changelog.Debian @ONLY)
configure_file(CHANGELOG.md ${built}/changelog COPYONLY)
execute_process(COMMAND gzip -9nf changelog.Debian changelog WORKING_DIRECTORY ${built})
install(FILES ${debian}/copyright ${built}/changelog.Debian.gz ${built}/changelog.gz
        DESTINATION /usr/share/doc/patchbay COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${debian}/patchbay.toml DESTINATION /etc/patchbay COMPONENT debian EXCLUDE_FROM_ALL)

include(CPack)
