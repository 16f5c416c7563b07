#include "count_words.hpp"

#include <cstdio>

namespace {

int wrong = 0;

void expect(std::string_view line, std::size_t words) {
  if (words_in(line) == words) return;
  ++wrong;
  std::printf("\"%.*s\" has %zu words, not %zu\n", static_cast<int>(line.size()), line.data(), words_in(line), words);
}

}  // namespace

int main() {
  expect("", 0);
  expect("  \t ", 0);
  expect("one", 1);
  expect(" two  words\r", 2);
  return wrong == 0 ? 0 : 1;
}
