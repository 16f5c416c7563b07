#include <brood/ambient.hpp>
#include <brood/api.hpp>
#include <brood/client.hpp>
#include <brood/global_id.hpp>
#include <fstream>

#include "expect.hpp"
#include "jobs.hpp"
#include "programs.hpp"

using namespace std::chrono_literals;

namespace {

std::string ledger_path;

int times(const std::string& noted) {
  int found = 0;
  std::ifstream file(ledger_path);
  for (std::string line; std::getline(file, line);) found += line == noted ? 1 : 0;
  return found;
}

void expect_noted(std::initializer_list<std::string> lines) {
  for (const std::string& line : lines) {
    if (!comes_true([&] { return times(line) > 0; })) throw std::logic_error("nobody has noted: " + line);
  }
}

void perform(brood::Client& client) {
  const brood::ambient::Scope scope;
  brood::ambient::set("tenant", "42");
  brood::ambient::set_locale("de");
  brood::ambient::set_traceparent("00-01-02-01");
  client.enqueue(Everything{.flag = true,
                            .number = 1'234'567'890'123,
                            .real = 0.5,
                            .text = "t\u00e4xt",
                            .list = {"a", "b"},
                            .pair = {3, 4},
                            .sizes = {{"a", 1}},
                            .places = {{"b", {2, 3}}},
                            .any = {.text = R"({"n": 1.0})"},
                            .colour = Colour::green,
                            .wait = 1500ms,
                            .file = "/tmp/x",
                            .more = {Cents(5), {1, 2}, "three", {std::byte{4}}}});
  expect_noted({R"(everything as told, any {"n": 1.0})",
                "jid whole, class Consumer::Everything, queue images, capsule images, attempt 1 after 0, going on, "
                "timeout moved, payload whole",
                "measured Consumer::Everything for 42 in de, 00-01-02-01"});
}

// A record of a Rails application as an argument.
void name_a_record() {
  const brood::GlobalId order = brood::GlobalId::parse("gid://shop/Order/7");
  EXPECT(order.app == "shop" && order.model == "Order" && order.id == "7" && order.text() == "gid://shop/Order/7");
  const brood::Argument<brood::GlobalId>::Wire text = brood::Argument<brood::GlobalId>::write(order);
  EXPECT(brood::Argument<brood::GlobalId>::read(text) == order);
}

void run_middleware(brood::Client& client) {
  client.enqueue(Replaced{"told"});
  client.enqueue(Replaced{"told"}, {.queue = "images"});
  expect_noted({"around: first", "around: second", "around: third", "around: fourth", "around: only images"});
  EVENTUALLY(times("replaced by told") == 2);
  EXPECT(times("around: first") == 2 && times("around: only images") == 1);
  EXPECT(times("around: gone") == 0 && times("around: removed") == 0);
  client.enqueue(Lingers{}, {.members = {{"replace_by", R"("a middleware")"}}});
  expect_noted({"replaces Lingers of default in default, attempt 1, jid 24", "replaced by a middleware"});
}

void fail(brood::Client& client, brood::Api& api) {
  brood::JobSet retries = api.retries(), dead = api.dead();
  const auto retry_of = [&](const std::string& jid) {
    EVENTUALLY(retries.find(jid).has_value());
    return *retries.find(jid);
  };
  const std::string later = client.enqueue(Ends{"later"});
  EXPECT(retry_of(later).time() > std::chrono::system_clock::now() + 110min);
  const brood::SetEntry usual = retry_of(client.enqueue(Ends{"as usual"}));
  EXPECT(usual.time() < std::chrono::system_clock::now() + 1min && usual.retry_count == 0 && usual.failed_at);
  expect_noted({"retry_in 0: as usual", "error of Ends: std::runtime_error"});
  const std::string killed = client.enqueue(Ends{"killed"});
  EVENTUALLY(dead.find(killed).has_value());
  expect_noted({"exhausted killed of default: killed", "death of Ends: killed, 24"});
  client.enqueue_bulk(std::vector<Ends>{{"discarded"}, {"killed and discarded"}});
  expect_noted({"death of Ends: discarded, 24", "death of Ends: killed and discarded, 24"});
  EXPECT(retry_of(client.enqueue(Ends{"by argument"})).error_class == "ArgumentError");
  EXPECT(retry_of(client.enqueue(Ends{"by name"})).error_message == "chosen words");
  expect_noted({"error of Ends: Consumer::Named"});
  const std::string crashed = client.enqueue(Ends{"by signal"});
  EXPECT(retry_of(crashed).error_class == "SIGSEGV" && !retry_of(crashed).backtrace().empty());
  expect_noted({"error of Ends: SIGSEGV, crashed", "crash of Ends: SIGSEGV"});
  client.enqueue(Ends{"too late"}, {.expires_at = std::chrono::system_clock::now() - 1h});
  client.enqueue(Ends{"interrupted"});
  expect_noted({"is interrupted"});
  EXPECT(!retries.find(later)->member("tags") && !dead.find(later));
}

void iterate(brood::Client& client, brood::Api& api) {
  const std::string file = ledger_path + ".lines";
  std::ofstream(file) << "one\ntwo\nenough\nnot this\n";
  client.enqueue(Lines{file});
  expect_noted({"lines start", "line one, 0 before it in run 1", "lines resume", "line two, 0 before it in run 2",
                "line enough, 1 before it in run 2", "lines complete"});
  EXPECT(times("lines stop") >= 1);

  std::ofstream(file) << "wait to be cancelled\nnot this\n";
  const std::string jid = client.enqueue(Lines{file});
  expect_noted({"waits to be cancelled"});
  EXPECT(client.cancel_iteration(jid) > std::chrono::system_clock::now() - 1min);
  const std::optional<brood::IterationRecord> record = api.iteration(jid);
  EXPECT(record && record->executions == 1 && record->cursor == "0" && record->run_seconds >= 0 &&
         record->cancelled_at);
  std::ofstream(file + ".cancelled") << "yes";
  expect_noted({"lines cancelled"});
  EVENTUALLY(!api.iteration(jid));

  client.enqueue(Batches{3});
  client.enqueue_bulk(std::vector<Steps>{{false}, {true}});
  expect_noted({"batch 0 1", "batch 2", "step called", "step ranged"});
}

void limit(brood::Client& client, brood::Api& api) {
  client.enqueue(Limited{});
  expect_noted({"limited erp 7 as told, over window for 1000 up to 3"});
  const std::string jid = client.enqueue(Limited{.by_hand = true});
  EVENTUALLY(api.scheduled().find(jid).has_value());
  EXPECT(api.scheduled().find(jid)->member("overrated") == "1");
  EXPECT(api.limits().size() == 5);
  const std::vector<brood::LimitUsage> windows = api.limits("window");
  EXPECT(windows.size() == 1);
  const brood::LimitUsage& window = windows.front();
  EXPECT(window.name == "window" && window.kind == "window" && window.limit == 2 && window.interval == 1h);
  EXPECT(window.held == 2 && window.taken >= 1 && window.waited >= 0 && window.wait_time.count() >= 0);
  EXPECT(window.over >= 1 && window.reclaimed == 0 && window.holders.empty() && window.shard.empty());
  EXPECT(api.reset_limit("window") && api.limits("window").at(0).held == 0 && !api.reset_limit("none"));
}

}  // namespace

void use_jobs(const std::string& redis_url, const std::string& ledger) {
  ledger_path = ledger;
  brood::Client client(redis_url);
  brood::Api api(redis_url);
  perform(client);
  name_a_record();
  run_middleware(client);
  fail(client, api);
  iterate(client, api);
  limit(client, api);
}
