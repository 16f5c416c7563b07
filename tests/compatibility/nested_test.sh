#!/bin/sh
# A project outside the tree has brood within it by add_subdirectory, and by FetchContent without a network: its job
# library runs, its program links, and brood's tests, extras and installation stay out of it.  libbrood takes a minute to
# compile again, so that is done where BROOD_TEST_NESTED is set; else the sources of the project are compiled, and a part of it.
# usage: BROOD_LAUNCHER=ccache nested_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY CXX_COMPILER CXX_FLAGS
set -eu
build=$1 source=$2 compiler=$3 flags=${4-} launcher=${BROOD_LAUNCHER-}
work=$build/tests/nested    # always the same, so that ccache knows the objects
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
fail() { echo "$*"; exit 1; }
cd "$work"

cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(outside CXX)
include(CTest)
if(WAY STREQUAL "add_subdirectory")
  add_subdirectory(${BROOD} _deps/brood-build)
else()
  include(FetchContent)
  FetchContent_Declare(brood URL https://brood.invalid/brood.tar.gz)
  FetchContent_MakeAvailable(brood)
endif()
brood_add_job_library(jobs jobs.cpp)
add_executable(push push.cpp)
target_link_libraries(push PRIVATE brood::brood)
install(TARGETS push)
END
cat > jobs.cpp <<'END'
#include <brood/job.hpp>
#include <iostream>
#include <string>
struct Greet {
  std::string name;
  void perform() { std::cout << "hello " << name << std::endl; }
};
BROOD_JOBS(Greet)
END
cat > push.cpp <<'END'
#include <brood/client.hpp>
#include <iostream>
int main() {
  try {
    brood::Client("unix:///nowhere/redis.sock").push({.job_class = "Greet"});
  } catch (const brood::RedisError& error) {
    std::cout << "refused: " << error.what() << std::endl;
  }
}
END

for way in add_subdirectory FetchContent; do
  # Both ways have the same directories, so that the second one compiles nothing again.  The objects run for a moment.
  cmake -S . -B build -G Ninja -DWAY=$way -DBROOD="$source" -DFETCHCONTENT_SOURCE_DIR_BROOD="$source" -DFETCHCONTENT_FULLY_DISCONNECTED=ON \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_FLAGS="$flags -O0" -DBROOD_PRECOMPILE=OFF \
    > configure.log 2>&1 || { cat configure.log; exit 1; }
  ninja -C build -t targets all > targets
  if grep -E 'unit_tests|brood-web|libbrood-testing|libexamples' targets; then fail "$way: tests, extras or examples of brood are part of the project"; fi
  if [ -z "${BROOD_TEST_NESTED-}" ]; then
    cmake --build build --target brood_job CMakeFiles/jobs.dir/jobs.cpp.o CMakeFiles/push.dir/push.cpp.o > build.log 2>&1 || { cat build.log; exit 1; }
    continue
  fi
  cmake --build build > build.log 2>&1 || { cat build.log; exit 1; }
  [ ! -e build/_deps/brood-build/bin/brood ] || fail "$way: the program was built, which nothing uses"
  "$build/bin/brood" perform Greet world -r "$PWD/build/libjobs.so" > said 2>&1 || { cat said; exit 1; }
  grep -q '^hello world$' said || { cat said; exit 1; }
  build/push > said
  grep -q '^refused: ' said || { cat said; exit 1; }
  rm -rf installed
  cmake --install build --prefix "$work/installed" > install.log
  [ "$(find installed -type f -o -type l)" = installed/bin/push ] || { find installed; fail "$way: parts of brood are installed"; }
done
grep -q 'no work to do' build.log || echo "FetchContent compiled something again"
grep -q 'BROOD_EXTRAS:BOOL=OFF' build/CMakeCache.txt
