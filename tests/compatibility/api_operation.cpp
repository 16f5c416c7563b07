#include <brood/api.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

// Does to a Redis with brood's data API what api_bytes_test.rb does to another with Ruby's.
// usage: api_operation URL OPERATION SET_OR_QUEUE [JID [EPOCH_SECONDS]]
namespace {

brood::JobSet set_of(brood::Api& api, const std::string& name) {
  return name == "schedule" ? api.scheduled() : name == "retry" ? api.retries() : api.dead();
}

bool operate(brood::Api& api, const std::string& operation, const std::string& name, const std::string& jid,
             const std::string& seconds) {
  if (operation == "queue_clear") return api.queue(name).clear(), true;
  if (operation == "queue_delete") return api.queue(name).remove(api.queue(name).find(jid).value());
  if (operation == "quiet") return api.quiet(name);
  if (operation == "stop") return api.stop(name);
  if (operation == "dump") return api.dump(name);
  if (operation == "reset_stats") return api.reset_stats(), true;
  brood::JobSet set = set_of(api, name);
  if (operation == "clear") return set.clear(), true;
  if (operation == "retry_all") return set.run_all().done > 0;
  if (operation == "kill_all") return set.kill_all().done > 0;
  const brood::SetEntry entry = set.find(jid).value();
  if (operation == "run") return set.run(entry);
  if (operation == "kill") return set.kill(entry);
  if (operation == "delete") return set.remove(entry);
  if (operation == "reschedule")
    return set.reschedule(entry, brood::Time(std::chrono::seconds(std::strtoll(seconds.c_str(), nullptr, 10))));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  try {
    brood::Api api{argv[1]};
    return operate(api, argv[2], argv[3], argc > 4 ? argv[4] : "", argc > 5 ? argv[5] : "") ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 69;
  }
}
