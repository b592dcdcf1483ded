# Gantry in a small image: not root, and nothing in it is written to but /data. docs/OPERATIONS.md, "Docker", says how to use it.
ARG BASE=docker.io/library/node:24-bookworm-slim

FROM ${BASE} AS build
WORKDIR /opt/gantry
COPY package.json package-lock.json ./
# No package needs its install script: the Node of the base runs everything.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY . .
# Whoever owns nothing reads everything.
RUN node deploy/prepare.ts /opt/gantry/bin/nats-server \
 && ln -s ../cli/gantry.mjs bin/gantry \
 && mkdir compiled && chown 1000:1000 compiled \
 && chmod -R a+rX /opt/gantry
# Compiled code is kept by user, and halves the time of each start.
USER 1000:1000
RUN NODE_COMPILE_CACHE=/opt/gantry/compiled NATS_SERVER=/opt/gantry/bin/nats-server node deploy/container/compile.ts
USER 0:0
RUN chmod -R a+rX compiled

FROM ${BASE}
LABEL org.opencontainers.image.title="Gantry" \
      org.opencontainers.image.description="Live data migration and an extension platform on a message broker" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/gantry /opt/gantry
# A new volume begins with this folder, whoever the user is.
RUN mkdir -m 1777 /data
ENV PATH=/opt/gantry/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/data \
    GANTRY_HOME=/data \
    GANTRY_LISTEN_ADDRESS=0.0.0.0 \
    NATS_SERVER=/opt/gantry/bin/nats-server \
    NODE_COMPILE_CACHE=/opt/gantry/compiled
WORKDIR /data
VOLUME /data
USER 1000:1000
EXPOSE 8080 8081 18080 6780 4222 9222
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "/opt/gantry/deploy/container/healthy.mjs"]
ENTRYPOINT ["gantry"]
CMD ["up"]
