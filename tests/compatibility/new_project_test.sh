#!/bin/sh
# A project from `brood new` builds without a warning against an installed brood, passes its own tests, including its
# job in workers, and runs; and `brood new` changes no existing file.
# usage: new_project_test.sh BUILD_DIRECTORY CXX_COMPILER CXX_FLAGS
set -eu
build=$1 compiler=$2 flags=${3-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
fail() { echo "$*"; exit 1; }

cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"
PATH=$work/prefix/bin:$PATH
cd "$work"

# Links in installed documents lead to installed documents.
python3 - prefix/share/doc/brood <<'END' || fail "a link of an installed document leads nowhere"
import pathlib, re, sys
documents = sorted(pathlib.Path(sys.argv[1]).glob("*.md"))
lost = [f"{page.name}: {link}" for page in documents for link in re.findall(r"(?<!`)\]\(([^)#\s:]+)(?:#[^)\s]*)?\)", page.read_text())
        if not (page.parent / link).exists()]
sys.exit("\n".join(lost) or (None if documents else "no documents"))
END

brood new image-jobs > steps
grep -qx '  cd image-jobs' steps || { cat steps; exit 1; }
if grep -rn '@[A-Z]*@' image-jobs; then fail "a word of the template was not filled in"; fi
cmake --preset default -S image-jobs -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags -Werror" \
  -DCMAKE_PREFIX_PATH="$work/prefix" > configure.log || { cat configure.log; exit 1; }
grep -q 'src/count_words.cpp' image-jobs/build/compile_commands.json || fail "editors are not told how the sources are compiled"
cmake --build image-jobs/build > build.log || { cat build.log; exit 1; }
ctest --test-dir image-jobs/build --output-on-failure > ctest.log || { cat ctest.log; exit 1; }
grep -q '100% tests passed, 0 tests failed out of 3' ctest.log || { cat ctest.log; exit 1; }
cd image-jobs
brood perform CountWords brood.toml -C brood.toml -r build/libimage_jobs.so 2> said || { cat said; exit 1; }
grep -q 'brood.toml has [1-9][0-9]* words' said || { cat said; exit 1; }
STATE_DIRECTORY=$work/state brood run -C brood.toml -r build/libimage_jobs.so --check > said || { cat said; exit 1; }
grep -q 'job classes: CountWords' said || { cat said; exit 1; }
if command -v systemd-analyze > /dev/null && [ -d /run/systemd/system ]; then
  mkdir -p "$work/units/brood@image-jobs.service.d"
  cp "$work"/prefix/lib/systemd/system/brood@.service "$work/units/brood@image-jobs.service"
  cp systemd/image-jobs.conf "$work/units/brood@image-jobs.service.d"
  SYSTEMD_UNIT_PATH="$work/units:" systemd-analyze verify --man=no "$work/units/brood@image-jobs.service" > said 2>&1 || true
  if grep -n 'image-jobs.conf' said; then fail "systemd complains of the drop-in"; fi
fi
cd ..

# An installed library that enqueues finds libbrood, which is in another prefix.
mkdir pushes
cat > pushes/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.21)
project(pushes CXX)
find_package(brood CONFIG REQUIRED)
brood_add_job_library(pushes pushes.cpp)
install(TARGETS pushes LIBRARY DESTINATION lib)
END
cat > pushes/pushes.cpp <<'END'
#include <brood/client.hpp>
#include <brood/job.hpp>
struct Pushes {
  void perform() { brood::Client{}.enqueue(*this); }
};
BROOD_JOBS(Pushes)
END
cmake -S pushes -B pushes/build -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_PREFIX_PATH="$work/prefix" \
  > pushes.log && cmake --build pushes/build >> pushes.log && cmake --install pushes/build --prefix "$work/own" >> pushes.log || { cat pushes.log; exit 1; }
brood perform Pushes -r "$work/own/lib/libpushes.so" 2> said || { cat said; exit 1; }
grep -q 'not sent to queue default' said || { cat said; exit 1; }

# Refused and unchanged.
status() { "$@" > /dev/null 2>&1 && echo 0 || echo $?; }
before=$(find image-jobs -type f -exec cksum {} + | sort)
[ "$(status brood new image-jobs)" = 64 ] || fail "a directory that is not empty was taken"
[ "$before" = "$(find image-jobs -type f -exec cksum {} + | sort)" ] || fail "a refusal changed something"
for name in 4x _x 'a b' 'a;b' 'ä' "a'b" 'a b.c'; do
  [ "$(status brood new "other/$name")" = 64 ] || fail "\"$name\" was taken for a name"
done
[ ! -e other ] || fail "a refusal made a directory"
touch file
[ "$(status brood new file)" = 64 ] || fail "a file was taken for a directory"
[ "$(status brood new)" = 64 ] || fail "no directory was taken for one"
mkdir vacant
[ "$(status brood new vacant)" = 0 ] || fail "an empty directory was refused"
grep -q 'brood_add_job_library(vacant_jobs ' vacant/CMakeLists.txt || fail "the library has another name than vacant_jobs"
echo "a new project builds, passes its tests and performs its job"
