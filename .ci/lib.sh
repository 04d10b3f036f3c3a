# Shared by the scripts of this folder; sourced, never run.
#
# Tool versions live here and in package.json; wasm-bindgen's comes from Cargo.lock, because
# the command must be exactly the version of the library.

TRUNK_VERSION=0.21.14
WASM_TARGET=wasm32-unknown-unknown

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"
# rustup's folder first, whatever the shell knows of it: Debian's cargo must not build natively.
export PATH="$ROOT/target/tools/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"

# The Debian path compiles with another compiler and so has its own target folder.
WASM_WEB_DIR="$ROOT/target/wasm-web"

say() { printf '%s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

case "${LAB_WASM:-rustup}" in
  rustup | debian) ;;
  *) die "LAB_WASM is '$LAB_WASM'; it must be rustup, debian or unset" ;;
esac

# quietly NAME COMMAND...: output goes to a log, which is shown if the command fails.
quietly() {
  local name=$1 log="$ROOT/target/ci/$1.log"
  shift
  mkdir -p "$ROOT/target/ci"
  "$@" >"$log" 2>&1 </dev/null && return 0
  { echo; tail -n 60 "$log"; } >&2
  say "(whole output: target/ci/$name.log)" >&2
  return 1
}

# apt_need WHY PACKAGE...: installs Debian packages, through sudo unless root.
apt_need() {
  local why=$1 sudo=()
  shift
  have apt-get || die "needed: $* ($why). There is no apt-get here: please install them by hand."
  if [ "$(id -u)" != 0 ]; then
    have sudo || die "needed: $* ($why). Neither root nor sudo: please run 'apt-get install $*' as root."
    sudo=(sudo)
    # Ask for the password, if there is one, where it can be seen.
    sudo -v || die "sudo refused; needed: $* ($why)"
  fi
  say "setup: apt-get install $* ($why)"
  quietly apt-update "${sudo[@]}" apt-get update || say "setup: apt-get update failed, trying with the lists that are there"
  quietly apt-install "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" \
    || die "apt-get install failed: $*"
}

need_rust() {
  have cargo || die "Rust is missing: install it with rustup (stable toolchain), then run this again."
  have cc || apt_need "C linker, which Rust calls" gcc libc6-dev
}

wasm_bindgen_version() {
  awk '/^name = "wasm-bindgen"$/ { getline; gsub(/"/, "", $3); print $3; exit }' Cargo.lock
}

# cargo_tool COMMAND VERSION WHY CARGO_INSTALL_ARGUMENTS...
# Another version in the user's own folder stays: ours then goes to target/tools.
cargo_tool() {
  local command=$1 version=$2 why=$3 root=()
  shift 3
  if have "$command"; then
    case " $("$command" --version 2>/dev/null) " in *" $version "*) return 0 ;; esac
    root=(--root "$ROOT/target/tools")
  fi
  say "setup: cargo install $1 $version ($why; takes minutes, once)"
  quietly "install-$1" env -u CARGO_TARGET_DIR cargo install "$@" --version "$version" "${root[@]}" \
    || die "cargo install $1 $version failed"
}

# npm_tools: the pinned list of package.json into .ci/node_modules.
npm_tools() {
  cmp -s .ci/package-lock.json .ci/node_modules/.pinned && return 0
  if ! have npm; then
    say "setup: npm is missing: the Wasm stays unshrunk and accessibility checks cannot run"
    return 0
  fi
  say "setup: npm ci (wasm-opt shrinks the Wasm, axe-core checks accessibility)"
  (cd .ci && quietly npm-ci npm ci --no-progress) || die "npm ci failed"
  cp .ci/package-lock.json .ci/node_modules/.pinned
}

rustup_has_wasm() { [ -d "$(rustc --print sysroot 2>/dev/null)/lib/rustlib/$WASM_TARGET/lib" ]; }

# Which toolchain builds the Wasm: "rustup" or "debian". LAB_WASM forces one.
# A failed download is remembered (in target/), so that later runs do not wait for it again.
wasm_toolchain() {
  if [ -n "${LAB_WASM:-}" ]; then
    say "$LAB_WASM"
  elif rustup_has_wasm || [ ! -e "$WASM_WEB_DIR/chosen" ]; then
    say rustup
  else
    say debian
  fi
}

need_wasm() {
  if [ "$(wasm_toolchain)" = rustup ]; then
    rustup_has_wasm && return 0
    if have rustup; then
      say "setup: rustup target add $WASM_TARGET (the browser front is Wasm)"
      mkdir -p target/ci
      timeout 300 rustup target add "$WASM_TARGET" >target/ci/rustup-target.log 2>&1 </dev/null && return 0
    fi
    [ "${LAB_WASM:-}" != rustup ] || die "the Wasm target could not be added (output: target/ci/rustup-target.log)"
    say "setup: rustup cannot add it; Debian's Rust builds the Wasm from source instead"
  fi
  need_debian_wasm
  if [ -z "${LAB_WASM:-}" ]; then
    mkdir -p "$WASM_WEB_DIR"
    touch "$WASM_WEB_DIR/chosen"
  fi
}

debian_lld_version() {
  local link
  link=$(readlink /usr/bin/rust-lld) || return 1
  say "${link##*lld-}"
}

need_debian_wasm() {
  local packages=(rustc-web cargo-web rust-web-src rust-web-llvm)
  dpkg -s "${packages[@]}" >/dev/null 2>&1 || apt_need "Rust with library sources, to build the Wasm" "${packages[@]}"
  local version
  version=$(debian_lld_version) || die "/usr/bin/rust-lld does not name a linker version"
  [ -x "/usr/bin/wasm-ld-$version" ] || apt_need "the Wasm linker of Debian's Rust" "lld-$version"
}

# with_wasm COMMAND...: runs it so that cargo can build for Wasm. The Debian settings exist in
# this one process alone.
with_wasm() {
  if [ "$(wasm_toolchain)" = rustup ]; then
    "$@"
  else
    env PATH="/usr/bin:$PATH" RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_STD=std,panic_abort \
      CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="wasm-ld-$(debian_lld_version)" \
      CARGO_TARGET_DIR="$WASM_WEB_DIR" "$@"
  fi
}

need_front() {
  need_rust
  need_wasm
  cargo_tool trunk "$TRUNK_VERSION" "bundles the page" trunk --locked --no-default-features --features rustls
  cargo_tool wasm-bindgen "$(wasm_bindgen_version)" "JavaScript glue, same version as the library" wasm-bindgen-cli
  npm_tools
}

need_browser() {
  if ! have "${CHROMEDRIVER:-chromedriver}" || ! { [ -n "${CHROME:-}" ] || have chromium || have google-chrome; }; then
    apt_need "browser tests" chromium chromium-driver
  fi
}
