#include "supervisor/cli/access/options_for_people.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace brood {

std::string shell_word(std::string_view word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:,@%+=").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string options_for_people(const std::string& config, const std::vector<std::string>& libraries,
                               const std::string& redis_url) {
  std::string text;
  const auto add = [&](const std::string& option, const std::string& word) {
    text += (text.empty() ? "" : " ") + option + " " + shell_word(word);
  };
  const auto whole = [](const std::string& path) {
    std::error_code error;
    const std::filesystem::path found = std::filesystem::absolute(path, error);
    return error ? path : found.lexically_normal().string();
  };
  if (!config.empty()) add("-C", whole(config));
  for (const std::string& library : libraries) add("-r", whole(library));
  if (!redis_url.empty() && redis_url.find('@') == redis_url.npos) add("--redis", redis_url);
  return text;
}

}  // namespace brood
