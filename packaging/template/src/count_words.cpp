#include "count_words.hpp"

#include <fstream>
#include <stdexcept>

std::size_t words_in(std::string_view line) {
  std::size_t words = 0;
  bool within = false;
  for (const char c : line) {
    const bool space = c == ' ' || c == '\t' || c == '\r';
    if (!space && !within) ++words;
    within = !space;
  }
  return words;
}

void CountWords::perform(brood::Context& job) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);  // the job has failed, and is tried again later
  std::size_t words = 0;
  for (std::string line; std::getline(file, line);) {
    if (job.stopping()) throw brood::Interrupted{};  // a stop or a deploy: it goes back to its queue
    words += words_in(line);
  }
  job.log(path + " has " + std::to_string(words) + " words");
}
