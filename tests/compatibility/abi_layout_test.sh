#!/bin/sh
# A change that would break built libraries does not compile, and the error says what to do; other changes compile.
# usage: abi_layout_test.sh SOURCE_DIRECTORY CXX_COMPILER
set -eu
source=$1 compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cp -R "$source/shared/include/brood" "$work/brood"

compiles() { "$compiler" -std=c++20 -fsyntax-only -I "$work" "$source/worker/job/abi_layout.cpp" > "$work/said" 2>&1; }

compiles || { cat "$work/said"; exit 1; }

# refused SENTENCE SED_COMMAND: a header changed so is refused with this sentence.
refused() {
  sed -E "$2" "$source/shared/include/brood/abi.hpp" > "$work/brood/abi.hpp"
  if cmp -s "$source/shared/include/brood/abi.hpp" "$work/brood/abi.hpp"; then
    echo "this changes nothing any more: $2"
    exit 1
  fi
  if compiles; then
    echo "the layout takes: $2"
    exit 1
  fi
  grep -q "$1" "$work/said" || { cat "$work/said"; exit 1; }
}
refused 'Result::error_class has moved.*raise the number' 's/^  Text error_class, message;  \/\/ when failed$/  Text message, error_class;/'
refused 'Call::earlier_attempts has moved or has another type.*raise the number' 's/std::int64_t earlier_attempts;/std::uint64_t earlier_attempts;/'
refused 'JobClass::exhausted has moved or has another type.*raise the number' 's/(void \(\*exhausted\)\(const Call\*, const Failure\*)/\1, int/'
refused 'Library has grown or shrunk: write down' 's/^(  Text \(\*periodic\)\(\);)$/\1\n  void* further;/'
refused 'Failure has grown or shrunk' 's/^(  std::uint32_t crashed;.*)$/\1\n  std::uint32_t further;/'
refused 'Failure has padding.*a member .unused.' '/std::uint32_t crashed;/{n;d;}'
refused 'result_failed is 1 to libraries that are built.*raise the number' 's/result_failed = 1/result_failed = 3/'
refused 'least_library_size is 40' 's/offsetof\(Library, set_up\)/sizeof(Library)/'
refused 'a new version of brood::abi has a new table' 's/version = 1;/version = 2;/'
echo "what would break a library does not compile"
