#include "shared/api/entries.hpp"

#include <charconv>
#include <utility>

#include "shared/json/json.hpp"
#include "shared/store/sets/job_sets.hpp"

namespace brood {

SetEntry read_entry(std::string_view member, std::string_view score) {
  SetEntry entry;
  static_cast<JobRecord&>(entry) = JobRecord::read(std::string(member));
  entry.score_text = score;
  std::from_chars(score.data(), score.data() + score.size(), entry.score);
  return entry;
}

std::vector<SetEntry> read_entries(ReplyView reply) {
  const std::vector<EntryAsRead> read = read_entries_as_read(reply);
  std::vector<SetEntry> entries;
  entries.reserve(read.size());
  for (const EntryAsRead& entry : read) entries.push_back(read_entry(entry.member, entry.score_text));
  return entries;
}

bool comes_before(const SetEntry& a, const SetEntry& b) {
  return a.score != b.score ? a.score < b.score : a.payload < b.payload;
}

std::string pattern_of_jid(std::string_view jid) {
  const std::string quoted = json_string(jid);
  std::string pattern = "*";
  for (const char c : quoted.substr(1, quoted.size() - 2)) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "*";
}

}  // namespace brood
