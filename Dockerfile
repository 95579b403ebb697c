# Vocero as one web process; compose.yaml runs two of them, and its commands beside them.
ARG PYTHON=3.11.13-slim-bookworm

# Packages are installed apart, so that nothing of the installation stays in what runs.
FROM python:${PYTHON} AS packages
# For brains over Gemini: --build-arg REQUIREMENTS=requirements-gemini.txt
ARG REQUIREMENTS=requirements.txt
COPY requirements.txt requirements-gemini.txt /build/
RUN python -m venv /opt/vocero && \
    /opt/vocero/bin/python -m pip install --no-cache-dir --disable-pip-version-check -r /build/${REQUIREMENTS}

FROM python:${PYTHON}
ENV PATH=/opt/vocero/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
RUN groupadd --gid 10001 vocero && \
    useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin vocero
COPY --from=packages /opt/vocero /opt/vocero
WORKDIR /srv/vocero
COPY manage.py ./
COPY vocero vocero
COPY conversations conversations
COPY tools tools
COPY templates templates
# Whoever checked the sources out may have kept them to themselves. Settings are needed to start, and none of these stays.
RUN chmod -R a+rX . && \
    SECRET_KEY=collectstatic DATABASE_URL=sqlite://:memory: python manage.py collectstatic --noinput --verbosity 0
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/livez', timeout=4)"]
CMD ["uvicorn", "vocero.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--ws", "websockets-sansio", "--loop", "uvloop", "--ws-per-message-deflate", "false", \
     "--timeout-graceful-shutdown", "15", "--ws-max-size", "2097152"]
