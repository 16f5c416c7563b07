#pragma once

#include <optional>
#include <string>
#include <vector>

#include <brood/api.hpp>

#include "shared/api/page_size.hpp"
#include "shared/api/push/client_connection.hpp"

namespace brood {

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
