#!/usr/bin/env bash
# Measures on the snapshots named (plain pickles): the native reader, CPython's pickle.load on the same file, and the
# hosted page in Chromium; medians of three, all in one run. Needs `make build` before.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet --example read
uptime
target/release/examples/read "$@"
python3 - "$@" <<'PYTHON'
import pickle, statistics, sys, time

def turn(path):
    begin = time.perf_counter()
    with open(path, 'rb') as file:
        pickle.load(file)
    return time.perf_counter() - begin

for path in sys.argv[1:]:
    print(f'{path}: CPython {sys.version.split()[0]} pickle.load {statistics.median(turn(path) for _ in range(3)):.2f} s')
PYTHON
node tests/browser/measure.mjs "$@"
uptime
