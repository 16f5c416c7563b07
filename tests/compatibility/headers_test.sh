#!/bin/sh
# Every installed header compiles alone, without a warning, with every compiler that is here.
# usage: headers_test.sh SOURCE_DIRECTORY
set -eu
include=$1/shared/include
status=0
for compiler in g++ clang++; do
  if ! command -v $compiler > /dev/null; then
    echo "SKIP: no $compiler"
    continue
  fi
  for header in $(cd "$include" && find brood -name '*.hpp' | sort); do
    if ! printf '#include <%s>\n' "$header" |
      $compiler -std=c++20 -x c++ -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -I "$include" -; then
      echo "$compiler refuses $header"
      status=1
    fi
  done
  # A whole library and a program: templates are checked where they are used.
  for file in "$1"/tests/compatibility/consumer/*.cpp "$1"/worker/examples/*.cpp; do
    if ! $compiler -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Werror -I "$include" "$file"; then
      echo "$compiler refuses $file"
      status=1
    fi
  done
done
exit $status
