#include "shared/api/entry_cursor.hpp"

#include "shared/api/entries.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/sets/set_entries.hpp"

namespace brood {
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
