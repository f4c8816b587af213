# SPDX-License-Identifier: MIT
#
# A thin front: each target installs what it needs (tests/setup.sh says what, and why), configures
# once and hands over to meson, ninja or a script. `make help` lists the targets.

BUILD ?= build
# Debian's own Python: it has the packages that setup.sh installs. Another one may come first on the
# PATH and have none of them.
PYTHON ?= /usr/bin/python3
export PYTHON
DATA ?=
ARGS ?=
# Without dpkg-dev meson takes this for a system with /usr/lib64, where Debian's loader never looks.
SETUP = meson setup $(BUILD) --libdir=lib

.PHONY: all setup demo check test bench docs wheel deb image install clean help configure with-tests

all: setup configure
	ninja -C $(BUILD)

setup:
	@tests/setup.sh $(or $(FOR),build)

configure:
	@test -f $(BUILD)/build.ninja || $(SETUP) -Dtests=disabled

demo:
	@tests/setup.sh demo
	@$(MAKE) --no-print-directory all
	$(PYTHON) tests/demo/demo.py --build $(BUILD) $(if $(DATA),--data $(DATA)) $(ARGS)

# What is tested and measured beside the programs needs the option; it is set once.
with-tests:
	@test -f $(BUILD)/build.ninja || { $(SETUP) -Dtests=enabled && \
		touch $(BUILD)/with-tests; }
	@test -f $(BUILD)/with-tests || { meson configure $(BUILD) -Dtests=enabled && \
		touch $(BUILD)/with-tests; }
	ninja -C $(BUILD)

# For what differs from the upstream branch, some seconds; ARGS=NAME adds a test.
check:
	@tests/setup.sh test
	@$(MAKE) --no-print-directory with-tests
	@$(PYTHON) tests/check.py --build $(BUILD) $(ARGS)

# Every check that is quick enough to run before a commit; .ci/run does the slower ones too.
test:
	@tests/setup.sh test
	@$(MAKE) --no-print-directory with-tests
	@$(PYTHON) tests/run.py --build $(BUILD) $(ARGS)

bench:
	@tests/setup.sh bench
	@$(MAKE) --no-print-directory with-tests
	$(PYTHON) tests/bench/bench.py --build $(BUILD) $(if $(DATA),--data $(DATA)) $(ARGS)

# The manual, as pages in build-docs/site. Its tools come from PyPI, into a folder of their own.
docs: with-tests
	@tests/setup.sh docs
	@test -x build-docs/bin/mkdocs || { $(PYTHON) -m venv build-docs && \
		build-docs/bin/pip install --quiet -r packaging/manual/requirements.txt; }
	$(PYTHON) packaging/manual/pictures.py $(BUILD) build-docs/pictures
	NO_MKDOCS_2_WARNING=1 build-docs/bin/mkdocs build --quiet

# In a Debian 12 of its own, on any system.
wheel:
	packaging/root.sh sh -c 'tests/setup.sh wheel && packaging/wheel/build.py'

deb:
	@tests/setup.sh deb
	packaging/deb/build.sh

# With the first of these that is there.
image:
	@tool=$$(command -v podman || command -v buildah || command -v docker) || \
		{ echo 'make image needs podman, buildah or docker' >&2; exit 69; }; \
	"$$tool" build --file packaging/container/Containerfile --tag stoker .

install: all
	meson install -C $(BUILD)
	@test -n "$(DESTDIR)" || test "$$(id -u)" != 0 || ldconfig

clean:
	rm -rf $(BUILD) demo-out

help:
	@echo 'make                  build stokerd, stokerctl and libstoker in ./$(BUILD)'
	@echo 'make demo [DATA=dir]  see it work, on made photographs or on your folder of classes'
	@echo 'make check            some seconds of tests for what differs from upstream'
	@echo 'make test             every quick check, some minutes'
	@echo 'make bench [DATA=dir] stoker and the DataLoader of PyTorch, side by side'
	@echo 'make docs             the manual, in build-docs/site/index.html'
	@echo 'make wheel            for pip, in packaging/wheel/dist, by podman or debootstrap'
	@echo 'make deb              packages for the Debian that this is, in packaging/deb/dist'
	@echo 'make image            a container image, with podman, buildah or docker'
	@echo 'make install          with meson; DESTDIR works'
	@echo 'make setup FOR=test   install what a target needs (tests/setup.sh says which)'
	@echo 'make clean            remove what was built'
