#!/bin/sh
# Every installed header compiles alone, and includes only the standard library and brood's own headers; all of them, a
# library and programs compile without a warning with both compilers.
# usage: headers_test.sh SOURCE_DIRECTORY
set -eu
include=$1/shared/include
warnings="-Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
status=0
headers=$(cd "$include" && find brood -name '*.hpp' | sort)

# includes_of DEPTH: the files that -H has named at that depth, in $work/said.
includes_of() { sed -n "s/^$1 //p" "$work/said"; }

for compiler in g++ clang++; do
  if ! command -v $compiler > /dev/null; then
    echo "no $compiler is installed: see packaging/install-dependencies"
    exit 1
  fi
done

# With one compiler: both have the same standard library.
echo '#include <version>' | g++ -std=c++20 -x c++ -fsyntax-only -H - 2> "$work/said"
standard=$(dirname "$(includes_of '\.' | head -n 1)")
for header in $headers; do
  # shellcheck disable=SC2086
  if ! echo "#include <$header>" | g++ -std=c++20 -x c++ -fsyntax-only -H $warnings -I "$include" - 2> "$work/said"; then
    grep -v '^\.* ' "$work/said" || true
    echo "g++ refuses $header"
    status=1
  fi
  # Its direct includes only; the headers that these include are checked themselves, or are the standard library's.
  if includes_of '\.\.' | grep -v -F -e "$include/brood/" -e "$standard/"; then
    echo "$header includes what is neither the standard library's nor brood's"
    status=1
  fi
done

# A whole library and programs: templates are checked where they are used.
for header in $headers; do echo "#include <$header>"; done > "$work/library.cpp"
for file in "$1"/worker/examples/*.cpp; do echo "#include \"$file\""; done >> "$work/library.cpp"
for compiler in g++ clang++; do
  for file in "$work/library.cpp" "$1"/tests/compatibility/consumer/*.cpp; do
    # shellcheck disable=SC2086
    if ! $compiler -std=c++20 -fsyntax-only $warnings -I "$include" "$file"; then
      echo "$compiler refuses $file"
      status=1
    fi
  done
done
exit $status
