# An image with nothing but the server. Build: docker build -t bindery .
# Run:   docker run -p 7700:7700 -v bindery:/var/lib/bindery bindery

FROM rust:1-slim-trixie AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY . .
RUN cargo build --release --locked --bin bindery && mkdir -m 700 /empty

FROM gcr.io/distroless/cc-debian13:nonroot
COPY --from=build /build/target/release/bindery /usr/local/bin/bindery
# A volume that is mounted here for the first time belongs to the user who may write to it.
COPY --from=build --chown=nonroot:nonroot /empty /var/lib/bindery
ENV BINDERY_DATA=/var/lib/bindery BINDERY_LISTEN=0.0.0.0:7700
VOLUME /var/lib/bindery
EXPOSE 7700
USER nonroot
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["/usr/local/bin/bindery", "health", "http://127.0.0.1:7700"]
# Docker waits 10 seconds for a container that stops. Give it more: docker stop --time 60.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/bindery"]
CMD ["serve"]
