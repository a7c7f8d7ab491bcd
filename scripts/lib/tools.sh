# Installs missing tools for the tests. Sourced by scripts/test, after postgres.sh.
#
# Everything that is not a Debian package goes into the cache directory ($cache), which you can delete at any
# time. A part of it is ready only if its stamp matches the requested versions, so an interrupted or outdated
# installation is repeated.

nextest_version=0.9.143

# install_programs "PROGRAM PACKAGE"…: installs missing programs, with apt-get if we are root.
install_programs() {
    local line program package missing=()
    for line in "$@"; do
        read -r program package <<<"$line"
        have "$program" || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then return 0; fi
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "Missing programs; install these Debian packages, or their equivalents on your system:" >&2
        echo "    ${missing[*]}" >&2
        return 1
    fi
    echo "installing ${missing[*]}"
    local quietly=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
    "${quietly[@]}" update
    "${quietly[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
    for line in "$@"; do
        read -r program package <<<"$line"
        have "$program" || { echo "$package is installed, but $program was not found" >&2; return 1; }
    done
}

# Whether a program is installed. Some cannot be found by name: they are not on the PATH, or are modules.
have() {
    case $1 in
        initdb) [ -n "$(postgres_bin)" ] ;;
        named | nginx | haproxy | update-ca-certificates) [ -x "/usr/sbin/$1" ] ;;
        python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

# Sets `runner` to nextest, or to cargo's own test runner if nextest cannot be installed.
install_nextest() {
    PATH=$PATH:$cache/cargo/bin
    runner=nextest
    if cargo nextest --version >/dev/null 2>&1; then return 0; fi
    echo "installing cargo-nextest $nextest_version (once, some minutes)"
    if ! cargo install --locked --quiet --root "$cache/cargo" --version "$nextest_version" cargo-nextest; then
        echo "cargo-nextest cannot be installed here: falling back to cargo test"
        runner=cargo
    fi
}

install_python_tools() {
    local wanted
    wanted="$(python3 --version) $cache $(cksum <scripts/requirements.txt)"
    if ! ready python "$wanted"; then
        echo "installing the Python tools"
        python3 -m venv "$cache/python"
        "$cache/python/bin/pip" install --quiet --disable-pip-version-check --requirement scripts/requirements.txt
        stamp python "$wanted"
    fi
    export CHANCERY_TEST_SCHEMATHESIS=$cache/python/bin/schemathesis
    export CHANCERY_TEST_PKILINT=$cache/python/bin
    export CHANCERY_TEST_PYTHON=$cache/python/bin/python
}

install_node_tools() {
    local wanted
    wanted="$(node --version) $(cat scripts/node/package.json scripts/node/package-lock.json | cksum)"
    if ! ready node "$wanted"; then
        echo "installing the Node tools"
        mkdir -p "$cache/node"
        cp scripts/node/package.json scripts/node/package-lock.json "$cache/node/"
        npm ci --prefix "$cache/node" --ignore-scripts --no-audit --no-fund --loglevel=error
        stamp node "$wanted"
    fi
    export CHANCERY_TEST_NODE_MODULES=$cache/node/node_modules
}

# No stamp: cargo tracks what is up to date.
build_rust_clients() {
    CARGO_TARGET_DIR=$cache/rust-clients cargo build --locked --quiet --manifest-path tests/clients/rust/Cargo.toml
    export CHANCERY_TEST_RUST_CLIENTS=$cache/rust-clients/debug/chancery-rust-clients
}

# ready PART VERSION: true if the part has this version; otherwise deletes it, so that it can be installed.
ready() {
    if [ "$(cat "$cache/$1.stamp" 2>/dev/null)" = "$2" ] && [ -d "$cache/$1" ]; then return 0; fi
    rm -rf "${cache:?}/$1" "$cache/$1.stamp"
    return 1
}

stamp() {
    printf '%s\n' "$2" >"$cache/$1.stamp.new"
    mv "$cache/$1.stamp.new" "$cache/$1.stamp"
}
