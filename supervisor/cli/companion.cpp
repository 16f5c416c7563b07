#include "supervisor/cli/companion.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "supervisor/process/own_words.hpp"

namespace brood {
namespace {

// Finds `program` beside this program, or in the directory `installed`, relative to this program.
std::string find(const std::string& program, const char* installed) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string beside = here / program, there = (here / installed / program).lexically_normal();
  for (const std::string& path : {beside, there}) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  throw CompanionMissing(fmt::format("{} is missing: it is neither {} nor {}", program, beside, there));
}

}  // namespace

std::string path_of_companion(const std::string& program) { return find(program, BROOD_COMPANIONS_FROM_BROOD); }

void become_companion(const std::string& program, const std::string& command, const std::vector<std::string>& args) {
  become_companion_at(path_of_companion(program), command, args);
}

void become_companion_at(const std::string& path, const std::string& command, const std::vector<std::string>& args) {
  std::vector<std::string> words = {"brood", command};
  words.insert(words.end(), args.begin(), args.end());
  const HiddenAddress hidden(words);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  throw std::system_error(errno, std::generic_category(), path);
}

std::string brood_of_companion() { return find("brood", BROOD_FROM_COMPANIONS); }

}  // namespace brood
