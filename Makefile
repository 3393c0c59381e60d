# SPDX-License-Identifier: Apache-2.0
# The front door; Meson and Ninja do the work.
BUILD ?= build

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

# The best way to train a trillion parameters on 4,096 processors.
demo: setup all
	$(BUILD)/reckon plan --model seed-1T --system h100-80g-off512g50-nvl8 \
	    --processors 4096 --batch 3072 --datatype float8

# The constants of the shipped documents, fitted anew to the measurements in data/.
calibrate: setup all
	tools/calibrate.sh $(abspath $(BUILD))

# What every change has to pass: two compilers, sanitizers, fuzzing, format and size limits.
check:
	tools/check.sh

# The tests alone, with one compiler.
test: setup all
	meson test -C $(BUILD) --print-errorlogs

# Every study of studies/: billions of strategies, less than a minute of processor time.
studies: setup all
	studies/run.sh $(BUILD)/reckon

bench: all
	ninja -C $(BUILD) bench-table
	RECKON_LIBRARY=$(BUILD)/lib/libreckon.so bench/predictor.py

# How long questions take on this machine: docs/performance.md, about ten minutes.
performance: all
	ninja -C $(BUILD) bench/bench
	tools/performance.py $(BUILD)

# SECONDS_EACH for every parser.
SECONDS_EACH ?= 60
fuzz:
	fuzz/run.sh $(SECONDS_EACH)

# Whether the tests notice seeded faults: tests/mutants/faults.txt, all in one build.
mutants: setup
	tests/mutants/run.py $(BUILD)-mutants

# What the fast tests execute, by module: writes docs/coverage.md, and fails where a module gets worse. Tests of the
# sources execute nothing, and fail there: gcov exports functions.
coverage: setup
	[ -f $(BUILD)-coverage/build.ninja ] || meson setup -Doptimization=1 -Db_coverage=true -Db_ndebug=true \
	    -Dmpi=disabled $(BUILD)-coverage
	ninja -C $(BUILD)-coverage --quiet
	find $(BUILD)-coverage -name '*.gcda' -delete
	-meson test -C $(BUILD)-coverage --no-rebuild --print-errorlogs -t 5 --no-suite slow --no-suite source
	tools/coverage.py $(BUILD)-coverage docs/coverage.md >$(BUILD)-coverage/page; status=$$?; \
	    cp $(BUILD)-coverage/page docs/coverage.md; exit $$status

# What takes too long for every change: hundreds of questions more of what tests ask, long tests with clang and
# assertions, the extension drill, every target fuzzed for a minute, thousands of allocations of every command failed
# one by one, the tests on a 32-bit and on a big-endian machine, the static program, and the WebAssembly build: its
# answers, the explorer in a browser, the package.
nightly: setup all npm
	meson test -C $(BUILD) --no-rebuild --print-errorlogs --suite nightly
	[ -f $(BUILD)-clang/build.ninja ] || CC=clang-14 meson setup -Dwerror=true -Db_ndebug=false $(BUILD)-clang
	meson test -C $(BUILD)-clang --print-errorlogs --suite unit --suite many
	$(MAKE) static
	tests/static.sh $(BUILD)-static
	tests/drill/drill.sh $(BUILD)-drill
	fuzz/run.sh $(SECONDS_EACH)
	cd tests/allocation && $(abspath $(BUILD))/tests/allocation/inject $(abspath $(BUILD))/reckon \
	    $(abspath $(BUILD))/tests/allocation/libfail_allocation.so commands.txt 0
	tools/other-machines.sh
	npm ci --silent --prefix tests/pages
	tests/wasm/questions.js $(BUILD)-wasm $(BUILD)/reckon
	tests/wasm/questions.js $(BUILD)-wasm $(BUILD)/reckon 500 1
	tests/pages/explorer.js $(BUILD)/reckon $(BUILD)-wasm
	tests/pages/report.py $(BUILD)/reckon 200

# One file to copy to a login node: no shared library, so neither MPI nor NLopt.
static: setup
	[ -f $(BUILD)-static/build.ninja ] || meson setup -Dstatic=true -Dlto=true $(BUILD)-static
	ninja -C $(BUILD)-static

# The explorer: the library as WebAssembly in one page, $(BUILD)-wasm/explorer.html, which `make install`
# then installs too (emscripten, node and chromium: more than 1 GB of packages).
pages:
	tools/setup.sh pages
	wasm/build.sh $(BUILD)-wasm
	pages/build.js $(BUILD)-wasm $(BUILD)-wasm/explorer.html

# The npm package of the same library, packed and tried in node.
npm: pages
	rm -rf $(BUILD)-npm && mkdir -p $(BUILD)-npm/try
	cp wasm/npm/* wasm/library.js LICENSE $(BUILD)-wasm/reckon.js $(BUILD)-wasm/reckon.wasm $(BUILD)-npm
	cd $(BUILD)-npm && npm pack --silent && npm install --silent --offline --no-audit --no-fund --prefix try \
	    ./reckon-llm-*.tgz
	wasm/npm/test.js $(BUILD)-npm/try

# Debian packages, checked with lintian and tried in a clean Debian.
package:
	tools/package.sh $(BUILD)-package

install: all
	meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

setup:
	tools/setup.sh

clean:
	rm -rf $(BUILD)

# Link-time optimisation makes searches faster and every change to the library slower to link.
$(BUILD)/build.ninja:
	meson setup -Dlto=true $(BUILD)

.PHONY: all demo calibrate check test studies bench performance fuzz mutants coverage nightly static pages npm package install setup clean
