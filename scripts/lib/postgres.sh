# A private PostgreSQL for the lifetime of the script that sources this file.
#
#   postgres_start    starts it and exports CHANCERY_TEST_POSTGRES
#   postgres_stop     stops it and deletes its files; safe to call twice, or without a start
#
# Sourced, not run. The server listens only on 127.0.0.1 and a socket, with trust authentication: it contains only test
# data, and SCRAM in an unoptimised build would take longer than the tests themselves.

postgres_dir=
postgres_pid=

# The directory of the newest PostgreSQL programs on this machine. Debian keeps them off the PATH.
postgres_bin() {
    local newest
    newest=$(find /usr/lib/postgresql -mindepth 3 -maxdepth 3 -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
    if [ -z "$newest" ]; then newest=$(command -v initdb || true); fi
    if [ -n "$newest" ]; then dirname "$newest"; fi
}

postgres_start() {
    local bin attempt port
    bin=$(postgres_bin)
    if [ -z "$bin" ]; then
        echo "PostgreSQL is not installed (Debian package: postgresql)" >&2
        return 1
    fi

    postgres_dir=$(mktemp -d "${TMPDIR:-/tmp}/chancery-postgres.XXXXXX")
    mkdir "$postgres_dir/socket"
    # PostgreSQL refuses to run as root.
    local as=() ownership=
    if [ "$(id -u)" = 0 ]; then
        ownership=nobody
        if id -u postgres >/dev/null 2>&1; then ownership=postgres; fi
        chown -R "$ownership" "$postgres_dir"
        as=(setpriv --reuid "$ownership" --regid "$(id -g "$ownership")" --clear-groups)
    fi

    # Change the directory: the unprivileged user may not have access to the caller's.
    (cd "$postgres_dir" && "${as[@]}" "$bin/initdb" --pgdata "$postgres_dir/data" --username postgres \
        --encoding UTF8 --locale C --auth trust >"$postgres_dir/initdb.log" 2>&1) || {
        cat "$postgres_dir/initdb.log" >&2
        return 1
    }
    printf '%s\n' "local all all trust" "host all all 127.0.0.1/32 trust" >"$postgres_dir/data/pg_hba.conf"

    # If this script is killed with SIGKILL, the kernel sends SIGINT to the server (fast shutdown).
    local tied=("${as[@]}")
    if command -v setpriv >/dev/null; then
        if [ ${#as[@]} -eq 0 ]; then tied=(setpriv); fi
        tied+=(--pdeathsig INT)
    fi
    # A separate session, so that Ctrl-C does not stop the server before the tests.
    local apart=()
    if command -v setsid >/dev/null; then apart=(setsid); fi

    for attempt in 1 2 3 4 5; do
        # Below the ephemeral range, so that no test gets this port for its own server.
        port=$((20000 + RANDOM % 12000))
        (cd "$postgres_dir" && exec "${apart[@]}" "${tied[@]}" "$bin/postgres" -D "$postgres_dir/data" -p "$port" \
            -c listen_addresses=127.0.0.1 -c unix_socket_directories="$postgres_dir/socket" \
            -c max_connections=300 -c shared_buffers=512MB -c fsync=on -c synchronous_commit=on -c full_page_writes=on \
            -c timezone=UTC) >"$postgres_dir/server.log" 2>&1 &
        postgres_pid=$!
        if postgres_wait "$bin" "$port"; then
            export CHANCERY_TEST_POSTGRES="postgres://postgres@127.0.0.1:$port/postgres"
            return 0
        fi
    done
    echo "PostgreSQL did not start:" >&2
    cat "$postgres_dir/server.log" >&2
    return 1
}

# Waits until our server accepts connections. Fails if it exits, for example because the port is in use.
postgres_wait() {
    local tries
    for tries in $(seq 150); do
        if ! kill -0 "$postgres_pid" 2>/dev/null; then return 1; fi
        # Through the socket: another process could be listening on the port.
        if "$1/pg_isready" --quiet --host "$postgres_dir/socket" --port "$2"; then return 0; fi
        sleep 0.1
    done
    kill -QUIT "$postgres_pid" 2>/dev/null || true
    wait "$postgres_pid" 2>/dev/null || true
    return 1
}

postgres_stop() {
    if [ -n "$postgres_pid" ] && kill -INT "$postgres_pid" 2>/dev/null; then
        local tries
        for tries in $(seq 100); do
            if ! kill -0 "$postgres_pid" 2>/dev/null; then break; fi
            sleep 0.1
        done
        kill -QUIT "$postgres_pid" 2>/dev/null || true
        wait "$postgres_pid" 2>/dev/null || true
    fi
    postgres_pid=
    if [ -n "$postgres_dir" ]; then rm -rf "$postgres_dir"; fi
    postgres_dir=
}
