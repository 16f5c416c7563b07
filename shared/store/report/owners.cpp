#include "shared/store/report/owners.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/store/identity_record.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/script.hpp"

namespace brood {
namespace {

// "<host>:<pid>:<nonce>".
Identity known_by_name(const std::string& name) {
  Identity identity;
  identity.name = name;
  const std::size_t nonce = name.rfind(':');
  const std::size_t pid = nonce == name.npos || nonce == 0 ? name.npos : name.rfind(':', nonce - 1);
  identity.hostname = name.substr(0, pid);
  identity.pid = std::max(1, pid == name.npos ? 1 : leading_number<int>(std::string_view(name).substr(pid + 1)));
  return identity;
}

bool list_if_unlisted(Channel& redis, const std::string& name) {
  const Reply reply = redis.run({&scripts::list_process,
                                 {keys::in_flight_hash(name), keys::brood_processes},
                                 {name, identity_record(known_by_name(name))}});
  if (reply.view().integer() == 0) return false;
  log::warn("unlisted_process_found", {{"identity", name}});
  return true;
}

}  // namespace

Command ask_owner_records() { return {"HGETALL", keys::brood_processes}; }

std::vector<OwnerRecord> read_owner_records(ReplyView reply) {
  std::vector<OwnerRecord> records;
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
    std::string name(reply[i].text());
    auto identity = parse_identity_record(name, std::string(reply[i + 1].text()));
    records.push_back({std::move(name), std::move(identity)});
  }
  return records;
}

void forget_process(Channel& redis, const std::string& identity) {
  redis.run({&scripts::forget_process, {keys::in_flight_hash(identity), keys::brood_processes}, {identity}});
}

int list_unlisted_processes(Channel& redis) {
  const std::size_t before_identity = keys::in_flight_hash("").name().size();
  int listed = 0;
  for_each_key(redis, keys::in_flight_hash("*"), "hash",
               [&](const std::string& key) { listed += list_if_unlisted(redis, key.substr(before_identity)); });
  return listed;
}

}  // namespace brood
