# Compiles for another Debian architecture: PATCHBAY_MACHINE, as printed by `uname -m`. It needs
# g++-<machine>-linux-gnu and the libraries of that architecture:
# dpkg --add-architecture arm64, then `scripts/image packages arm64` installs both.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PATCHBAY_MACHINE)
set(triplet ${PATCHBAY_MACHINE}-linux-gnu)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${PATCHBAY_MACHINE})
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})
# Otherwise those of the build machine are found first.
set(CMAKE_SYSTEM_IGNORE_PREFIX_PATH /usr/local)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${triplet}/pkgconfig:/usr/share/pkgconfig)
