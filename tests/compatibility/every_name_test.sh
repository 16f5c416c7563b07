#!/bin/sh
# A project outside the tree that uses every public name: its libraries run under the installed `brood run`, and its
# program enqueues, reads and changes what it expects.
# usage: every_name_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY CXX_COMPILER CXX_FLAGS
set -eu
build=$1 source=$2 compiler=$3 flags=${4-}
work=$(mktemp -d)
redis= brood=
finish() {
  for process in $brood $redis; do kill "$process" 2>/dev/null || true; wait "$process" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM
fail() { echo "$*"; tail -n 40 "$work/brood.log" 2>/dev/null || true; exit 1; }

redis-server --port 0 --unixsocket "$work/redis.sock" --dir "$work" --save '' > "$work/redis.log" &
redis=$!
cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"
cmake -S "$source/tests/compatibility/consumer/every" -B "$work/project" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_UNITY_BUILD=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/configure.log" ||
  { cat "$work/configure.log"; exit 1; }
cmake --build "$work/project" > "$work/build.log" || { cat "$work/build.log"; exit 1; }

REDIS_URL=unix://$work/redis.sock
CONSUMER_LEDGER=$work/ledger
RUNTIME_DIRECTORY=$work/run STATE_DIRECTORY=$work/state
ASAN_OPTIONS=handle_segv=0:use_sigaltstack=0    # brood itself must catch a crash, also in a build with a sanitizer
export REDIS_URL CONSUMER_LEDGER RUNTIME_DIRECTORY STATE_DIRECTORY ASAN_OPTIONS
mkdir "$work/run" "$work/state"
every() { "$work/project/every" "$1" "$REDIS_URL" "$CONSUMER_LEDGER"; }
every before || fail "before brood runs"

cat > "$work/brood.toml" << END
concurrency = 1
queues = ["default"]
tag = "consumer"
labels = ["every"]
poll_interval = "200ms"
require = ["$work/project/libmeasures.so", "$work/project/libevery_job.so"]
[log]
level = "debug"
[capsules.images]
concurrency = 1
queues = ["images"]
END
"$work/prefix/bin/brood" run -C "$work/brood.toml" > "$work/brood.log" 2>&1 &
brood=$!
every during || fail "while brood runs"
wait "$brood" || fail "brood ended with $?"
brood=

noted() { grep -qxF -- "$1" "$CONSUMER_LEDGER" || { cat "$CONSUMER_LEDGER"; fail "nobody has noted: $1"; }; }
for event in 1 2 3 4 5 6; do noted "event $event of default"; noted "event $event of images"; done
noted "event 0"
noted "ends after an interruption"
noted "expired too late of default"
if grep -E ', of another class|, which is wrong|runs backwards|without payload' "$CONSUMER_LEDGER"; then fail "that is otherwise"; fi
for word in "an ordinary word" "the same word" "a loud word" "a louder one" "an ordinary event" "a small event"; do
  grep -q "$word" "$work/brood.log" || fail "not in the log: $word"
done
"$work/prefix/bin/brood" bench --jobs 100 --latency-jobs 0 > "$work/bench.log" 2>&1 || { cat "$work/bench.log"; fail "no benchmark where brood is installed"; }
echo "every public name is used, and does what it should"
