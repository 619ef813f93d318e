# The operator's image: the locked packages in a virtual environment, no build tools, no root.
FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv /opt/ganglift
COPY requirements/run.lock requirements/run.lock
RUN /opt/ganglift/bin/pip install --no-cache-dir --require-hashes -r requirements/run.lock
COPY pyproject.toml README.md LICENSE ./
COPY operator operator
COPY crds crds
RUN /opt/ganglift/bin/pip install --no-cache-dir --no-deps .

FROM python:3.13-slim
LABEL org.opencontainers.image.title="ganglift" org.opencontainers.image.licenses="Apache-2.0"
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/ganglift /opt/ganglift
# A number, not a name: the kubelet can then see that it is not root.
USER 65532:65532
ENTRYPOINT ["/opt/ganglift/bin/ganglift"]
