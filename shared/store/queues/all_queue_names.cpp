#include "shared/store/queues/all_queue_names.hpp"

#include "shared/store/scan.hpp"

namespace brood {
namespace {

constexpr std::size_t names_in_a_page = 500;

}  // namespace

std::set<std::string> all_queue_names(Channel& redis) {
  std::set<std::string> names;  // one may come twice
  std::string position(scan_begins);
  do {
    const Reply reply = redis.call(NamePages::of_queues().ask(position, names_in_a_page));
    const ScanPage page = read_scan(reply.view());
    position = page.next;
    for (std::size_t i = 0; i < page.found.size(); ++i) names.emplace(page.found[i].text());
  } while (position != scan_begins);
  return names;
}

}  // namespace brood
