# `make serve` builds the pages and serves them; `make test` runs every check. Both install what
# is missing first.
.PHONY: serve test test-ray bench build shots pictures clean audit install wheel test-wheel fuzz mutants

# The page that the program carries, and what it was built from.
CARRIED = OOMSCOPE_PAGE="$(CURDIR)/dist/oomscope.html" OOMSCOPE_COMMIT="$$(git describe --always --dirty --tags 2> /dev/null || true)"

serve: build
	node www/serve.mjs dist/site

build:
	.ci/setup build
	www/wasm.sh
	node www/build.mjs

# The program in cargo's own folder, with the page inside.
install: build
	$(CARRIED) cargo install --locked --path crate

# dist/*.whl: the program with the page inside, and the Python package.
wheel: build
	python3 -m venv target/maturin
	target/maturin/bin/pip install --quiet 'maturin>=1.9,<2'
	echo "COMMIT = \"$$(git describe --always --dirty --tags 2> /dev/null || true)\"" > crate/python/oomscope/_commit.py
	$(CARRIED) target/maturin/bin/maturin build --release --locked --out dist

# No part of `make test`: a release build of the program takes minutes.
test-wheel: wheel
	python3 crate/python/tests/wheel.py dist/*.whl

test:
	.ci/setup test
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo test --locked --lib --bins --tests
	cargo test --locked --doc
	cd crate/python/tests && python3 -m unittest
	www/wasm.sh clippy --locked
	www/wasm.sh --locked
	node www/build.mjs
	node --test --test-concurrency=2 --test-reporter=spec tests/browser/*.test.mjs

# The recipes of docs/ranks.md over 65 files; the second on Ray's local cluster, in an environment
# of its own. No part of `make test`: Ray is some 300 MB.
test-ray:
	python3 -m venv target/ray
	target/ray/bin/pip install --quiet ray==2.60.0
	cargo install --locked --quiet --force --path crate --root target/ray
	target/ray/bin/python tests/ray/recipes.py target/ray/bin/oomscope

# Times of each stage, here and in Chromium, on made snapshots of 0.1, 1 and 10 million entries, which
# take 1.1 GB in target/bench.
bench: build
	cargo bench --locked
	tests/measure.sh

# What is known against the dependencies: licences, sources and doubles (deny.toml), and advisories
# from RustSec's database on GitHub and npm's registry. No part of `make test`: it needs the network,
# and cargo-deny takes minutes to build, once. OFFLINE=1 leaves out what needs more than crates.io.
audit:
	.ci/setup build
	target/tools/bin/cargo-deny --version || cargo install --locked cargo-deny --version 0.20.2 --root target/tools
	target/tools/bin/cargo-deny --locked check licenses bans sources
ifndef OFFLINE
	target/tools/bin/cargo-deny --locked check advisories
	npm audit
endif

# Pictures of the pages in target/shots, to look at.
shots: build
	node tests/browser/shots.mjs

# Each fuzz target for so many seconds; what they find lies in target/fuzz afterwards. `-s none`
# needs no nightly compiler but for its flags.
SECONDS = 60
fuzz:
	command -v cargo-fuzz > /dev/null || cargo install --locked --quiet cargo-fuzz
	for target in pickle container snapshot replay message; do \
	  mkdir -p target/fuzz/$$target target/fuzz/found && \
	  RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir tests/fuzz -s none $$target target/fuzz/$$target tests/fuzz/corpus/$$target -- \
	    $$(ls tests/fuzz/dictionaries/$$target.dict 2> /dev/null | sed s/^/-dict=/) \
	    -artifact_prefix=target/fuzz/found/ -max_total_time=$(SECONDS) -timeout=2 -rss_limit_mb=1024 || exit; \
	done

# Recordings of damaged structure; part of them is in the suites.
mutants:
	cargo run --locked --example mutants -- 100000

# The pictures of README and docs, from the fixtures.
pictures: build
	node tests/browser/walk.mjs

clean:
	rm -rf dist target node_modules
