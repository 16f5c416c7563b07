#include "shared/api/entries.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <utility>

#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "shared/store/sets/set_entries.hpp"

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

PageRange page_range(std::size_t number, std::size_t per_page) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  if (per_page == 0) throw std::invalid_argument("a page has one entry at least");
  if (per_page > most || number >= most / per_page) throw std::invalid_argument("there is no such page");
  const std::size_t first = number * per_page;
  return {std::to_string(first), std::to_string(first + per_page - 1)};
}

double latency_of(std::string_view payload) {
  try {
    return std::max(0.0, Payload::parse(payload).latency_seconds(wall_now()));
  } catch (const BadPayload&) {
    return 0;
  }
}

namespace {

EntryAsRead as_read(const SetEntry& entry) { return {entry.payload, entry.score_text}; }

}  // namespace

void EntryCursor::start_at(double score) {
  // No real member is empty, and an empty one sorts first: all entries of that score come after it.
  seen_ = read_entry("", score_text(score));
}

bool EntryCursor::is_behind(const SetEntry& entry) const {
  if (!seen_) return true;
  if (seen_->payload.empty() && entry.score == seen_->score) return true;
  return order_ == JobSet::Order::lowest_first ? comes_before(*seen_, entry) : comes_before(entry, *seen_);
}

std::vector<SetEntry> EntryCursor::next(ClientConnection& redis) {
  std::optional<SetEntry> from = seen_;
  for (;;) {
    const EntryAsRead seen = from ? as_read(*from) : EntryAsRead{};
    const EntryAsRead anchor = anchor_ ? as_read(*anchor_) : EntryAsRead{};
    const Reply reply = redis.run(set_page(set_, order_ == JobSet::Order::highest_first, page_size_.next(),
                                           from ? &seen : nullptr, anchor_ ? &anchor : nullptr));
    std::vector<SetEntry> page = read_entries(reply.view());
    if (page.empty()) return page;

    std::size_t bytes = 0;
    for (const SetEntry& entry : page) bytes += entry.payload.size();
    page_size_.saw(page.size(), bytes);

    SetEntry last = page.back();
    std::erase_if(page, [&](const SetEntry& entry) { return !is_behind(entry); });
    if (!page.empty()) {
      seen_ = std::move(last);
      return page;
    }
    from = std::move(last);  // all of these had been seen
    anchor_ = from;
  }
}

}  // namespace brood
