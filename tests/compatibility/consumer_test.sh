#!/bin/sh
# A project outside the tree builds against an installed brood: with its CMake package and with pkg-config, with only a
# compiler and only the standard library; and the jobs that it enqueues arrive.
# usage: consumer_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY CXX_COMPILER CXX_FLAGS
set -eu
build=$1 source=$2 compiler=$3 flags=${4-}
work=$(mktemp -d)
redis=
finish() {
  if [ -n "$redis" ]; then kill "$redis" 2>/dev/null || true; wait "$redis" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

cmake --install "$build" --component development --prefix "$work/prefix" > "$work/install.log"
cp -R "$source/tests/compatibility/consumer" "$work/project"
cmake -S "$work/project" -B "$work/project/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/project/build"
test -f "$work/project/build/libjobs.so"
nm -D --defined-only "$work/project/build/libjobs.so" | grep -q ' T brood_job_library$'
if readelf -d "$work/project/build/libjobs.so" | grep -q 'NEEDED.*libbrood'; then
  echo "a library that enqueues nothing needs libbrood"
  exit 1
fi
# A program that only enqueues needs neither an event loop nor a logger.
if readelf -d "$(find "$work/prefix" -name 'libbrood.so.*' -type f)" | grep 'NEEDED' |
  grep -v -E 'lib(brood|hiredis|simdjson|fmt|tomlplusplus|z|ssl|crypto|stdc\+\+|gcc_s|m|c|asan|ubsan|tsan)\.so|ld-linux'; then
  echo "libbrood needs more than it did"
  exit 1
fi
# A test that performs jobs needs neither an event loop nor a symboliser nor seccomp.
if readelf -d "$(find "$work/prefix" -name 'libbrood-testing.so.*' -type f)" | grep 'NEEDED' |
  grep -v -E 'lib(brood|hiredis|simdjson|fmt|spdlog|tomlplusplus|z|ssl|crypto|stdc\+\+|gcc_s|m|c|asan|ubsan|tsan)\.so|ld-linux'; then
  echo "libbrood-testing needs more than it did"
  exit 1
fi

redis-server --port 0 --unixsocket "$work/redis.sock" --dir "$work" --save '' > "$work/redis.log" &
redis=$!
tries=0
until redis-cli -s "$work/redis.sock" ping > /dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 200 ] || { cat "$work/redis.log"; exit 1; }
  sleep 0.05
done
"$work/project/build/enqueue" "unix://$work/redis.sock" > "$work/jids"
[ "$(grep -c '^[0-9a-f]\{24\}$' "$work/jids")" = 2 ]
grep -qx '3 wait in images' "$work/jids"
grep -qxF 'ResizeImage waits with ["dog.png",160]' "$work/jids" || { cat "$work/jids"; exit 1; }
[ "$(redis-cli -s "$work/redis.sock" llen queue:images)" = 3 ]
[ "$(redis-cli -s "$work/redis.sock" llen queue:default)" = 1 ]
[ "$(redis-cli -s "$work/redis.sock" zcard schedule)" = 4 ]
[ "$(redis-cli -s "$work/redis.sock" llen queue:by_hand)" = 1 ]
redis-cli -s "$work/redis.sock" lindex queue:images -1 | grep -F '"class":"ResizeImage","args":["cat.png",320],' > /dev/null

# With <brood/testing.hpp>: the Redis of the machine is not used.
REDIS_URL=unix:///nonexistent/redis.sock BROOD_PROGRAM=$build/bin/brood "$work/project/build/test_jobs" "$work/project/build/libjobs.so" > "$work/said" 2>&1 ||
  { cat "$work/said"; exit 1; }
for picture in cat dog; do
  grep -q "resizing $picture.png" "$work/said" || { cat "$work/said"; exit 1; }
done

# The same with pkg-config, after the installation was moved.
if command -v pkg-config > /dev/null; then
  mv "$work/prefix" "$work/moved"
  PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name brood.pc)")
  export PKG_CONFIG_PATH
  # shellcheck disable=SC2046,SC2086
  "$compiler" $flags -std=c++20 -fsyntax-only $(pkg-config --cflags brood) "$work/project/enqueue.cpp"
  # shellcheck disable=SC2046,SC2086
  "$compiler" $flags -std=c++20 $(pkg-config --cflags brood-testing) "$work/project/test_jobs.cpp" "$work/project/jobs.cpp" \
    $(pkg-config --libs brood-testing) -o "$work/test_jobs"
fi
echo "the consumer builds, enqueues and tests its jobs"
