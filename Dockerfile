# Two images of one build:
#   docker build -t patchbay .                              the program, its libraries and an init, nothing else
#   docker build -t patchbay:0.1.0-tools --target tools .   the same with a shell and the usual programs
# See docs/image.md.

# Compiles on the build machine, for the target machine.
FROM --platform=$BUILDPLATFORM debian:bookworm-slim AS build
ARG TARGETARCH
WORKDIR /src
COPY scripts/image scripts/common.sh scripts/packages.txt scripts/
RUN scripts/image packages "$TARGETARCH"
COPY CMakeLists.txt CMakePresets.json LICENSE ./
COPY cmake cmake
COPY proto proto
COPY src src
COPY sim sim
COPY net net
ARG REVISION=unknown
RUN --mount=type=cache,target=/root/.cache/ccache scripts/image build "$TARGETARCH" "$REVISION"
COPY scripts/third-party scripts/
ARG CREATED=1970-01-01T00:00:00Z
RUN scripts/image root "$TARGETARCH" /root-of-image "$CREATED"

# The parts that both images share.
FROM scratch AS base
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Patchbay" \
      org.opencontainers.image.description="Gives containers on Kubernetes any device a node has" \
      org.opencontainers.image.url="https://github.com/patchbay/patchbay" \
      org.opencontainers.image.source="https://github.com/patchbay/patchbay" \
      org.opencontainers.image.documentation="https://github.com/patchbay/patchbay/tree/v$VERSION/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.vendor="Patchbay" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# Only root can create a socket in the kubelet's directory. No capability is needed.
USER 0:0
# The init reaps what programs of probes and hooks leave behind.
ENTRYPOINT ["/usr/bin/tini", "-s", "--", "/usr/bin/patchbay"]
CMD ["run"]

# sh, coreutils, grep, sed and awk are in Debian's base. Documentation, except copyright, is left out, and so are tables that
# probes do not need: udev's database of hardware names and the character sets of other languages.
FROM debian:bookworm-slim AS debian-with-tools
RUN apt-get update && \
    apt-get install -y --no-install-recommends \
      libprometheus-cpp-core1.0 libtomlplusplus3 libudev1 pciutils tini udev usbutils && \
    rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/share/info /usr/share/locale/* /usr/share/man/* \
      /usr/lib/udev/hwdb.bin /usr/lib/udev/hwdb.d /usr/lib/*-linux-gnu/gconv /usr/bin/tini-static && \
    find /usr/share/doc -type f ! -name copyright -delete
COPY --from=build /root-of-image/usr/bin/patchbay /usr/bin/patchbay
COPY --from=build /root-of-image-tools /
COPY --from=build /root-of-image/usr/share/doc/patchbay /usr/share/doc/patchbay

FROM base AS tools
COPY --from=debian-with-tools / /

FROM base AS patchbay
COPY --from=build /root-of-image /
