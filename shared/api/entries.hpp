#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/api.hpp>

#include "shared/api/push/client_connection.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Reads the reply to set_page(), ask_entries_at() or ask_last_entry().
std::vector<SetEntry> read_entries(ReplyView reply);
SetEntry read_entry(std::string_view member, std::string_view score);

// The order of a sorted set: by score, then by bytes.
bool comes_before(const SetEntry& a, const SetEntry& b);

// A MATCH pattern for ZSCAN that finds the payloads that may be this job's.
std::string pattern_of_jid(std::string_view jid);

// The strings of a JSON array; other elements are left out.
std::vector<std::string> string_elements(std::optional<std::string_view> array);

// The indexes of one page, as LRANGE and ZRANGE take them.  Throws std::invalid_argument for an empty page and one
// beyond all that Redis can hold.
struct PageRange {
  std::string first, last;
};
PageRange page_range(std::size_t number, std::size_t per_page);

// The seconds that this job has waited in its queue; 0 if the payload does not tell.
double latency_of(std::string_view payload);

// How many entries to ask for at once: so many that a page is about a megabyte, and at most `most`.
class PageSize {
 public:
  explicit PageSize(std::size_t most) : most_(most), next_(std::min<std::size_t>(most, 50)) {}

  std::size_t next() const { return next_; }

  void saw(std::size_t entries, std::size_t bytes) {
    constexpr std::size_t page_bytes = 1 << 20;
    if (entries > 0) next_ = std::clamp<std::size_t>(page_bytes / (bytes / entries + 1), 1, most_);
  }

 private:
  std::size_t most_, next_;
};

// Walks through a sorted set in its order, page by page, while others change it: every entry that stays in place comes
// exactly once.
class EntryCursor {
 public:
  EntryCursor(std::string set, JobSet::Order order) : set_(std::move(set)), order_(order) {}

  // Starts at the first entry with `score` or more (with Order::lowest_first).
  void start_at(double score);

  // The next page; empty when there are no more.
  std::vector<SetEntry> next(ClientConnection& redis);

  // Call it after most of the last page was taken out of the set, with an entry of that page that is still in it: the
  // next page is found from there.
  void left(const SetEntry& entry) { anchor_ = entry; }

 private:
  bool is_behind(const SetEntry& entry) const;

  std::string set_;
  JobSet::Order order_;
  PageSize page_size_{250};
  std::optional<SetEntry> seen_, anchor_;
};

}  // namespace brood
