#pragma once

#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The queues of a capsule and the order in which a fetch asks them (Sidekiq wire specification, section 3).
//   strict    every weight 0: as listed
//   random    every weight 1: shuffled for each fetch
//   weighted  otherwise: shuffled with each name repeated by its weight, the first of each name counts
class QueueOrder {
 public:
  enum class Mode { strict, random, weighted };
  struct Entry {
    std::string name;
    int weight = 0;  // 0: none given
  };

  QueueOrder() : QueueOrder(std::vector<Entry>{{"default", 0}}) {}
  // Adds each exclusion to each pattern: "mail*", "*" and "!mail_bulk" become "mail*!mail_bulk" and "*!mail_bulk".
  // Throws std::invalid_argument for an exclusion without a pattern, or of a queue that is named.
  explicit QueueOrder(const std::vector<Entry>& entries);

  // "images" or "images,3"; a pattern such as "mail*" is kept as it is, and "!mail_bulk" is an exclusion.  Throws
  // std::invalid_argument for an empty or unsafe name or a weight that is no number from 0 to 1000.
  static Entry parse(std::string_view text);

  Mode mode() const { return mode_; }
  const std::vector<std::string>& expanded() const { return expanded_; }  // each name repeated max(weight, 1) times
  std::map<std::string, int> weights() const;
  std::vector<std::string> names() const;  // each once, as listed
  bool has_patterns() const;               // then further queues may match later

  // The order of one fetch, each name once.
  std::vector<std::string> draw(std::mt19937_64& random) const;

 private:
  std::vector<Entry> entries_;
  std::vector<std::string> expanded_;
  Mode mode_ = Mode::strict;
};

// Whether an entry is a pattern, which stands for all known queues that match it, and not the name of a queue.  In
// "mail*!mail_bulk" the "*" matches any text, and each "!" is followed by a name or pattern of queues that are left
// out.  A pattern without "~" that matches "images" matches all tenants of images, whatever their names are.
bool is_pattern(std::string_view entry);
// Returns false for a name that is not safe.
bool matches(std::string_view pattern, std::string_view queue);
// The entry of the list by which a queue is fetched: its name, else the first pattern that matches, with "*" as the
// last one.  nullptr: none.
const std::string* entry_for(const std::vector<std::string>& listed, std::string_view queue);

// Names that the Web UI can show and that carry no HTML: [A-Za-z0-9_.:@/-]+, at most 255 bytes.  That of a queue may
// also have "~": see tenants.hpp.
bool is_safe_name(std::string_view text);
bool is_safe_queue(std::string_view text);

}  // namespace brood
