#include "shared/http/name_lookup.hpp"

#include <netinet/in.h>
#include <poll.h>

#include <atomic>
#include <boost/test/unit_test.hpp>

using namespace brood;

namespace {

std::atomic<int> blocked_lookups{0};
std::atomic<bool> lookups_may_end{false};

int block(const char*, const char*, const addrinfo*, addrinfo**) {
  ++blocked_lookups;
  lookups_may_end.wait(false);
  --blocked_lookups;
  blocked_lookups.notify_all();
  return EAI_AGAIN;
}

int find_loopback(const char*, const char* port, const addrinfo* hints, addrinfo** found) {
  return getaddrinfo("127.0.0.1", port, hints, found);
}

int find_none(const char*, const char*, const addrinfo*, addrinfo**) { return EAI_NONAME; }

NameLookup::End wait_for(const NameLookup& lookup) {
  pollfd one{lookup.fd(), POLLIN, 0};
  BOOST_REQUIRE(poll(&one, 1, 10'000) == 1);
  return lookup.end().value();
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_address_in_numbers_is_there_at_once) {
  for (const auto& [host, family] : {std::pair{"127.0.0.1", AF_INET}, std::pair{"::1", AF_INET6}}) {
    const NameLookup lookup(host, 80, &find_none);
    BOOST_TEST(lookup.fd() == -1);
    const NameLookup::End end = lookup.end().value();
    BOOST_REQUIRE(end.addresses.size() == 1u);
    BOOST_TEST(end.addresses.front().family == family);
  }
}

BOOST_AUTO_TEST_CASE(a_name_is_looked_up_beside_the_work) {
  const NameLookup::End end = wait_for(NameLookup("name.invalid", 8080, &find_loopback));
  BOOST_REQUIRE(end.addresses.size() == 1u);
  const auto& address = reinterpret_cast<const sockaddr_in&>(end.addresses.front().to);
  BOOST_TEST(ntohs(address.sin_port) == 8080);
  BOOST_TEST(ntohl(address.sin_addr.s_addr) == INADDR_LOOPBACK);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_not_known_has_a_reason) {
  const NameLookup::End end = wait_for(NameLookup("name.invalid", 80, &find_none));
  BOOST_TEST(end.addresses.empty());
  BOOST_TEST(end.trouble == "name.invalid: Name or service not known");
}

BOOST_AUTO_TEST_CASE(a_lookup_that_blocks_holds_nothing_up) {
  {
    const NameLookup forgotten("name.invalid", 80, &block);
    BOOST_TEST(!forgotten.end());
  }
  const NameLookup lookup("name.invalid", 80, &block);
  BOOST_TEST(!lookup.end());
  lookups_may_end = true;
  lookups_may_end.notify_all();
  BOOST_TEST(wait_for(lookup).trouble == "name.invalid: Temporary failure in name resolution");
  // Both threads are over before this test is.
  for (int left = blocked_lookups; left > 0; left = blocked_lookups) blocked_lookups.wait(left);
}
