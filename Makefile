# `make serve` builds the pages and serves them; `make test` runs every check. Both install what
# is missing first.
.PHONY: serve test build shots clean

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

# Pictures of the pages in target/shots, to look at.
shots: build
	node tests/browser/shots.mjs

clean:
	rm -rf dist target node_modules
