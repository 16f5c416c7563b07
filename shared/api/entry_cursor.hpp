#pragma once

#include <optional>
#include <string>
#include <vector>

#include <brood/api.hpp>

#include "shared/api/client_connection.hpp"
#include "shared/api/page_size.hpp"

namespace brood {

// Walks through a sorted set in its order, page by page, while others change it: every entry that stays where it is
// comes once.
class EntryCursor {
 public:
  EntryCursor(std::string set, JobSet::Order order) : set_(std::move(set)), order_(order) {}

  // Begins behind all entries below `score` (with Order::lowest_first).
  void start_at(double score);

  // Empty: there are no more.
  std::vector<SetEntry> next(ClientConnection& redis);

  // Says that this one, of the last page, is still in the set, when most of that page has been taken out: from there
  // the next page is found.
  void left(const SetEntry& entry) { anchor_ = entry; }

 private:
  bool is_behind(const SetEntry& entry) const;

  std::string set_;
  JobSet::Order order_;
  PageSize page_size_{250};
  std::optional<SetEntry> seen_, anchor_;
};

}  // namespace brood
