#!/usr/bin/env bash
# Builds the wasm module and its glue into target/wasm/pkg; `www/wasm.sh clippy` lints it instead.
# Further arguments go to cargo. The tools come from .ci/setup.
set -euo pipefail
cd "$(dirname "$0")/.."

target=wasm32-unknown-unknown
out=target/wasm/pkg
# What every browser with WebAssembly SIMD has: Chrome 91, Firefox 89, Safari 16.4 and later.
features=(simd128 bulk-memory nontrapping-fptoint sign-ext mutable-globals)

verb=build
if [ "${1:-}" = clippy ]; then
  verb=clippy
  shift
fi

# A directory of its own: its compiler and flags would have the native build made anew each time.
export CARGO_TARGET_DIR=target/wasm
RUSTFLAGS="-C target-feature=$(printf ',+%s' "${features[@]}" | cut -c2-)"
export RUSTFLAGS
OOMSCOPE_COMMIT=$(git describe --always --dirty --tags 2>/dev/null || true)
export OOMSCOPE_COMMIT

cargo=(cargo)
std=()
if [ ! -d "$(rustc --print target-libdir --target $target)" ]; then
  # Debian's compiler comes with the sources of std, so it can build what rustup could not fetch.
  # Its linker is a broken link in some releases; rustup's links for wasm just as well.
  lld=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld
  export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$lld
  export PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
  cargo=(/usr/bin/cargo)
  std=(-Z build-std=std,panic_abort)
  if [ $verb = clippy ]; then
    echo "wasm.sh: no clippy for $target without rustup's target; skipped" >&2
    exit 0
  fi
fi

if [ $verb = clippy ]; then
  exec "${cargo[@]}" clippy --package oomscope --lib --profile wasm --target $target "$@" -- -D warnings
fi

"${cargo[@]}" build --package oomscope --lib --profile wasm --target $target "${std[@]}" "$@"

built=$CARGO_TARGET_DIR/$target/wasm/oomscope.wasm
stamp=$(cat "$built" "$0" package-lock.json www/glue/Cargo.lock | sha256sum)
if [ "$stamp" != "$(cat $out/stamp 2>/dev/null || true)" ]; then
  rm -rf $out
  target/tools/glue/release/glue "$built" $out
  # Binaryen's names for the same features.
  node_modules/.bin/wasm-opt -O3 --enable-simd --enable-bulk-memory --enable-bulk-memory-opt \
    --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals \
    --enable-reference-types --enable-multivalue \
    --one-caller-inline-max-function-size=40 \
    $out/oomscope_bg.wasm --output $out/oomscope_bg.opt.wasm
  mv $out/oomscope_bg.opt.wasm $out/oomscope_bg.wasm
  echo "$stamp" > $out/stamp
fi
