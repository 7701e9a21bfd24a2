# The platform: `dstress serve` with PostgreSQL and S3 at hand. Build: docker build -t dstress .
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --prefix=/install ".[server,postgres,s3]"

FROM python:3.12-slim
COPY --from=build /install /usr/local
RUN useradd --create-home --uid 10001 dstress && install -d -o dstress -g dstress /data
USER dstress
ENV DSTRESS_FOLDER=/data DSTRESS_HOME=/data/home PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["dstress"]
CMD ["serve", "--host", "0.0.0.0"]
