#!/bin/sh
# The reference of the public headers is made without a warning: everything public is documented, and every header has
# its page.
# usage: reference_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY
set -eu
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# make_reference FOLDER [SETTING...]: writes Doxygen's messages, line by line, to FOLDER.log.
make_reference() {
  folder=$1
  shift
  { cat "$build/packaging/Doxyfile"; printf '%s\n' "OUTPUT_DIRECTORY = $folder" "$@"; } | (cd "$work" && doxygen -) > "$folder.log" 2>&1
}

status=0
if ! make_reference "$work/reference" || [ -s "$work/reference.log" ]; then
  cat "$work/reference.log"
  status=1
fi
for header in $(cd "$source/shared/include" && find brood -name '*.hpp' -not -path '*/detail/*' -not -name abi.hpp); do
  page=$(basename "$header" .hpp | sed 's/_/__/g')_8hpp.html
  if [ ! -s "$work/reference/html/$page" ]; then
    echo "$header has no page"
    status=1
  fi
  if ! grep -q "$header" "$source/packaging/doc/reference.md"; then
    echo "$header is not on the reference's first page, packaging/doc/reference.md"
    status=1
  fi
done
if grep -rl -e 'namespacebrood_1_1detail' -e 'namespacebrood_1_1abi' "$work/reference/html" | grep .; then
  echo "these pages show what is not public"
  status=1
fi
"$source/tests/compatibility/unused_names" "$work/reference/xml" "$source/tests/compatibility/consumer" || status=1
[ $status = 0 ] || exit 1

# Such a check finds a member without a comment, and a comment about something that does not exist.
refuses() {
  mkdir -p "$work/flawed/brood"
  cat > "$work/flawed/brood/flawed.hpp"
  if make_reference "$work/refused" "INPUT = $work/flawed/brood" "USE_MDFILE_AS_MAINPAGE =" "STRIP_FROM_PATH = $work/flawed"; then
    echo "the reference takes a header with $1"
    exit 1
  fi
  grep -q "$2" "$work/refused.log" || { cat "$work/refused.log"; exit 1; }
}
refuses "a member without a comment" 'Member legs .* is not documented' << 'END'
#pragma once
namespace brood {
// An animal.
struct Animal {
  int arms = 0;  // of these

  int legs = 4;
};
}  // namespace brood
END
refuses "a class without a comment" 'Animal is not documented' << 'END'
#pragma once
namespace brood {
struct Animal {
  int legs = 4;  // to stand on
};
}  // namespace brood
END
echo "the reference is complete"
