# The image of the controllers: `npm run archives` packs what goes into it, then
#   docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/fairlead:0.1.0 .
# Nothing in it depends on the architecture but the base image. docs/how-to/install.md says more.

# The Node of the workspace (package.json, optionalDependencies).
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-bookworm-slim AS install
WORKDIR /build
COPY archives/ archives/
RUN npm install --prefix /opt/fairlead --omit=dev --ignore-scripts --no-audit --no-fund ./archives/*.tgz

FROM node:${NODE_VERSION}-bookworm-slim
# git for packages; ssh for repositories behind it.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git openssh-client \
  && rm -rf /var/lib/apt/lists/*
COPY --from=install /opt/fairlead /opt/fairlead
ENV NODE_ENV=production HOME=/tmp
# No name of a user is needed, and only /tmp and /data are written: the root file system can be read-only.
USER 65532:65532
WORKDIR /tmp
EXPOSE 9443 8443
ENTRYPOINT ["node", "/opt/fairlead/node_modules/fairlead/bin/fairlead.js"]
CMD ["run"]
