# `make serve` builds the pages and serves them; `make test` runs every check. Both install what
# is missing first.
.PHONY: serve test test-ray bench build shots clean

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

# Times of each stage, here and in Chromium, on made snapshots of 0.1, 1 and 10 million entries, which
# take 1.1 GB in target/bench.
bench: build
	cargo bench --locked
	tests/measure.sh

# Pictures of the pages in target/shots, to look at.
shots: build
	node tests/browser/shots.mjs

clean:
	rm -rf dist target node_modules
