# qsketch in PostgreSQL's official image, which is used as that is:
#
#	docker build -t qsketch .                   for the CPU
#	docker build -t qsketch:cuda --target cuda .
#	                                            with CUDA kernels, and qsketch preloaded;
#	                                            docker run --gpus all ...
#	... --build-arg PG_MAJOR=18                 another version of PostgreSQL
#
# Nothing of CUDA is in the second image but the kernels: the runtime is linked
# statically, and the driver comes from the host.
ARG PG_MAJOR=17
ARG CUDA=13.0

FROM postgres:${PG_MAJOR}-bookworm AS build
ARG PG_MAJOR
RUN apt-get update && \
	apt-get install -y --no-install-recommends gcc libc6-dev make postgresql-server-dev-$PG_MAJOR && \
	rm -rf /var/lib/apt/lists/*
ENV PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config
WORKDIR /srv/qsketch
COPY . .

FROM build AS build-cpu
RUN make -j "$(nproc)" WITH_CUDA=no && make install WITH_CUDA=no DESTDIR=/installed

FROM nvidia/cuda:${CUDA}.0-devel-ubuntu24.04 AS toolkit

FROM build AS build-cuda
ARG CUDA
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY --from=toolkit /usr/local/cuda-${CUDA} /usr/local/cuda
RUN make -j "$(nproc)" WITH_CUDA=yes && make install WITH_CUDA=yes DESTDIR=/installed

FROM postgres:${PG_MAJOR}-bookworm AS cuda
LABEL org.opencontainers.image.title="qsketch" org.opencontainers.image.version="1.0.0" \
	org.opencontainers.image.description="frequency sketches, Bloom filters and set intersections" \
	org.opencontainers.image.licenses="PostgreSQL"
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=build-cuda /installed /
CMD ["postgres", "-c", "shared_preload_libraries=qsketch"]

FROM postgres:${PG_MAJOR}-bookworm AS cpu
LABEL org.opencontainers.image.title="qsketch" org.opencontainers.image.version="1.0.0" \
	org.opencontainers.image.description="frequency sketches, Bloom filters and set intersections" \
	org.opencontainers.image.licenses="PostgreSQL"
COPY --from=build-cpu /installed /
