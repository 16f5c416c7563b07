#include "shared/api/entries.hpp"

#include <charconv>
#include <utility>

#include "shared/json/json.hpp"

namespace brood {

SetEntry read_entry(std::string_view member, std::string_view score) {
  SetEntry entry;
  static_cast<JobRecord&>(entry) = JobRecord::read(std::string(member));
  entry.score_text = score;
  std::from_chars(score.data(), score.data() + score.size(), entry.score);
  return entry;
}

std::vector<SetEntry> read_entries(ReplyView members_and_scores) {
  std::vector<SetEntry> entries;
  entries.reserve(members_and_scores.size() / 2);
  for (std::size_t i = 0; i + 1 < members_and_scores.size(); i += 2) {
    entries.push_back(read_entry(members_and_scores[i].text(), members_and_scores[i + 1].text()));
  }
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
