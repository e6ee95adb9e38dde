# `make serve` builds the pages and serves them; `make test` runs every check. Both install what
# is missing first.
.PHONY: serve test test-ray build shots fuzz mutants clean

serve: build
	node www/serve.mjs dist/site

build:
	.ci/setup build
	www/wasm.sh
	node www/build.mjs

test:
	.ci/setup test
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo test --locked
	www/wasm.sh clippy --locked
	www/wasm.sh --locked
	node www/build.mjs
	node --test --test-reporter=spec tests/browser/*.test.mjs

# The recipes of docs/ranks.md over 65 files; the second on Ray's local cluster, in an environment
# of its own. No part of `make test`: Ray is some 300 MB.
test-ray:
	python3 -m venv target/ray
	target/ray/bin/pip install --quiet ray==2.60.0
	cargo install --locked --quiet --force --path crate --root target/ray
	target/ray/bin/python tests/ray/recipes.py target/ray/bin/oomscope

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

clean:
	rm -rf dist target node_modules
