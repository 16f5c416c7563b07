#include "supervisor/process/own_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace brood {
namespace {

constexpr const char* variable = "BROOD_HIDDEN_REDIS";
constexpr std::string_view option = "--redis", stars = "***";

std::vector<std::string>& words_of_this_process() {
  static std::vector<std::string> words;
  return words;
}

// The position of user and password in an address.  A password with an unescaped @ is hidden completely.
struct Credentials {
  std::size_t begin = 0, size = 0;
};
std::optional<Credentials> credentials_in(std::string_view url) {
  const std::size_t mark = url.find("://");
  if (mark == url.npos) return std::nullopt;
  const std::size_t begin = mark + 3, at = url.rfind('@');
  if (at == url.npos || at < begin || url[begin] == '/') return std::nullopt;  // "/": a Unix socket's path with an @
  return Credentials{begin, at - begin};
}

// Calls `visit` with the number of each word that holds an address, and the offset of the address in it.
template <typename Visit>
void each_address(const std::vector<std::string>& words, Visit visit) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == option && i + 1 < words.size()) visit(++i, std::size_t{0});
    if (words[i].starts_with(option) && words[i].size() > option.size() && words[i][option.size()] == '=')
      visit(i, option.size() + 1);
  }
}

void wipe_credentials(char* url) {
  const auto found = credentials_in(url);
  if (!found) return;
  const std::size_t length = std::strlen(url), kept = std::min(stars.size(), found->size);
  char* const begin = url + found->begin;
  std::memcpy(begin, stars.data(), kept);
  std::memmove(begin + kept, begin + found->size, length - found->begin - found->size);
  std::memset(url + length - (found->size - kept), 0, found->size - kept);
}

// /proc shows the memory in which our environment was at the start: copies the variable elsewhere and wipes that
// memory.
void hide_address_of_environment() {
  const char* const provider = std::getenv("REDIS_PROVIDER");
  const std::string name = provider != nullptr && *provider != '\0' ? provider : "REDIS_URL";
  char* const shown = std::getenv(name.c_str());
  if (shown == nullptr || !credentials_in(shown)) return;
  if (setenv(name.c_str(), std::string(shown).c_str(), 1) == 0) wipe_credentials(shown);
}

// Puts an address that the previous program hid (HiddenAddress) back among the words, right behind the command's name.
void take_hidden_address(std::vector<std::string>& words) {
  char* const hidden = std::getenv(variable);
  if (hidden == nullptr) return;
  if (words.size() > 1) words.insert(words.begin() + 2, {std::string(option), hidden});
  std::memset(hidden, 0, std::strlen(hidden));
  unsetenv(variable);
}

}  // namespace

void take_own_words(int argc, char** argv) {
  std::vector<std::string>& words = words_of_this_process();
  words.assign(argv, argv + argc);
  each_address(words, [&](std::size_t word, std::size_t begin) { wipe_credentials(argv[word] + begin); });
  take_hidden_address(words);
  hide_address_of_environment();
}

const std::vector<std::string>& own_words() { return words_of_this_process(); }

HiddenAddress::HiddenAddress(std::vector<std::string>& words) {
  std::vector<std::size_t> taken;
  std::string last;  // if it is given several times, the last counts
  each_address(words, [&](std::size_t word, std::size_t begin) {
    last = words[word].substr(begin);
    if (begin == 0) taken.push_back(word - 1);
    taken.push_back(word);
  });
  if (!credentials_in(last)) return;
  for (auto word = taken.rbegin(); word != taken.rend(); ++word)
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(*word));
  if (setenv(variable, last.c_str(), 1) == 0) assignment_ = fmt::format("{}={}", variable, last);
}

HiddenAddress::~HiddenAddress() {
  if (!assignment_.empty()) unsetenv(variable);
}

}  // namespace brood
