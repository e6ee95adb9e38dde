# `make serve` builds the pages and serves them; `make test` runs every check. Both install what
# is missing first.
.PHONY: serve test test-ray build install wheel test-wheel shots clean

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
	cargo test --locked
	cd crate/python/tests && python3 -m unittest
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

clean:
	rm -rf dist target node_modules
