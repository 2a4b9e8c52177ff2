# policyd as a container image, for amd64 and arm64:
#
#   docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/policyd:TAG --push .
#
# The first stage builds the wheel and installs it beside the locked versions of what it needs, all
# of which have wheels for both platforms: nothing is compiled. The second takes over only that.

FROM python:3.12-slim-bookworm AS build
WORKDIR /build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore

RUN python -m venv --without-pip /opt/policyd
COPY requirements/build.txt requirements/image.txt requirements/
RUN pip install --only-binary=:all: --require-hashes -r requirements/build.txt \
 && pip --python /opt/policyd/bin/python install --only-binary=:all: --require-hashes -r requirements/image.txt

COPY pyproject.toml README.md LICENSE ./
COPY grammar grammar
COPY rules rules
COPY policyd policyd
RUN python -m hatchling build --target wheel \
 && pip --python /opt/policyd/bin/python install --no-index --no-deps dist/policyd-*.whl \
 && pip --python /opt/policyd/bin/python check

FROM python:3.12-slim-bookworm
LABEL org.opencontainers.image.title="policyd" \
      org.opencontainers.image.description="A Kubernetes scheduler whose whole policy is text" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN pip uninstall --yes pip
COPY --from=build /opt/policyd /opt/policyd
# The tables of the parser are made here, for the root file system may be read-only.
ENV PATH=/opt/policyd/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    XDG_CACHE_HOME=/var/cache/policyd
RUN install --directory --owner=65532 --group=65532 --mode=0700 /var/cache/policyd
USER 65532:65532
RUN policyd eval -e 'true'
# Probes ask /livez and /readyz.
HEALTHCHECK NONE
EXPOSE 10259
ENTRYPOINT ["policyd"]
CMD ["--help"]
