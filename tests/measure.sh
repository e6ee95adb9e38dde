#!/usr/bin/env bash
# Measures, medians of three and all in one run: the native reader and what follows it, CPython's pickle.load on the same
# file, and the hosted page in Chromium. On the snapshots named (plain pickles for CPython's sake), or else on made ones of
# 0.1, 1 and 10 million entries, which must cost the same an entry. Needs `make build` before.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet --example read --example make_large
files=("$@")
if [ $# = 0 ]; then
  mkdir -p target/bench
  for entries in 100000 1000000 10000000; do
    file=target/bench/$entries.pickle
    [ -f "$file" ] || target/release/examples/make_large "$entries" > "$file"
    files+=("$file")
  done
fi
uptime
target/release/examples/read "${files[@]}"
python3 - "${files[@]}" <<'PYTHON'
import os, pickle, statistics, sys, time

def turn(path):
    begin = time.perf_counter()
    with open(path, 'rb') as file:
        pickle.load(file)
    return time.perf_counter() - begin

for path in sys.argv[1:]:
    if os.path.getsize(path) > 500e6:
        print(f'{path}: left out, as Python objects it takes more memory than this machine may have')
        continue
    print(f'{path}: CPython {sys.version.split()[0]} pickle.load {statistics.median(turn(path) for _ in range(3)):.2f} s')
PYTHON
node tests/browser/measure.mjs "${files[@]}"
uptime
