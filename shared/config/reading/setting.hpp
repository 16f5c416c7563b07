#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/config.hpp"

// Checks of single values, of the file or of the command line.  Every check returns its argument or throws ConfigError.
namespace brood::setting {

inline constexpr std::chrono::milliseconds longest_time = std::chrono::hours(365 * 24);  // that a setting may be

std::int64_t check_count(const Place& place, std::int64_t n, std::int64_t least, std::int64_t most);
std::chrono::milliseconds check_duration(const Place& place, std::chrono::milliseconds d,
                                         std::chrono::milliseconds least, std::chrono::milliseconds most);
std::string check_text(const Place& place, const std::string& text);   // not empty, no NUL
std::string check_name(const Place& place, const std::string& name);   // is_safe_name
std::string check_queue(const Place& place, const std::string& name);  // is_safe_queue
std::string check_redis_url(const Place& place, const std::string& url);
std::string check_listen_address(const Place& place, const std::string& text);

std::chrono::milliseconds read_duration(const Place& place, const std::string& text);
std::uint64_t read_memory_limit(const Place& place, const std::string& text);
TimeUnit read_time_unit(const Place& place, const std::string& word);
log::Level read_level(const Place& place, const std::string& word);
log::Format read_format(const Place& place, const std::string& word);
AppendFsync read_appendfsync(const Place& place, const std::string& word);
enum class ScheduledQueues { own, all };
ScheduledQueues read_scheduled_queues(const Place& place, const std::string& word);
LeftThreads read_left_threads(const Place& place, const std::string& word);
ExpiredJobs read_expired(const Place& place, const std::string& word);
QueueOrder::Entry read_queue(const Place& place, const std::string& text);  // "name" or "name,weight"
std::string read_path(const Place& place, const std::string& path);         // absolute
std::string read_path_or_credential(const Place& place, const std::string& path);

// For [commands]: a job class, and what executable.hpp reads.
std::string check_class_name(const Place& place, const std::string& name);
std::string check_command_word(const Place& place, const std::string& word);
std::string read_program(const Place& place, const std::string& word);  // absolute, or a name to be looked for in PATH
std::string check_variable(const Place& place, const std::string& name);  // of the environment
std::string check_no_nul(const Place& place, const std::string& text);

// A word that its setting does not know.
class UnknownWord : public ConfigError {
 public:
  UnknownWord(const std::string& text, std::vector<std::string> words) : ConfigError(text), known(std::move(words)) {}
  std::vector<std::string> known;
};

// choose() returns the value of a word, or throws UnknownWord by refuse_word().
[[noreturn]] void refuse_word(const Place& place, const std::string& word, const std::vector<std::string>& known);
template <typename Value>
Value choose(const Place& place, const std::string& word, const std::vector<std::pair<std::string, Value>>& choices) {
  std::vector<std::string> known;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    known.push_back(name);
  }
  refuse_word(place, word, known);
}

// Gives `capsule` its queues; "*" may be one of them, once.
void set_queues(const Place& place, CapsuleSettings& capsule, std::vector<QueueOrder::Entry> entries);

}  // namespace brood::setting
