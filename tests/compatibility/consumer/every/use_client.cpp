#include <brood/ambient.hpp>
#include <brood/api.hpp>
#include <brood/client.hpp>

#include <cstdlib>

#include "expect.hpp"
#include "jobs.hpp"
#include "programs.hpp"

using namespace std::chrono_literals;

namespace {

const auto in_an_hour = std::chrono::system_clock::now() + 1h;

std::string only_payload(brood::Api& api, const std::string& queue) {
  const std::vector<brood::JobRecord> jobs = api.queue(queue).page(0);
  EXPECT(jobs.size() == 1);
  api.queue(queue).clear();
  return jobs.front().payload;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

void enqueue_with_options(brood::Client& client, brood::Api& api) {
  client.enqueue(Lingers{}, {.queue = "options",
                             .retry = 3,
                             .timeout = 2min,
                             .backtrace = true,
                             .dead = false,
                             .tags = {"by hand"},
                             .retry_for = 1h,
                             .retry_queue = "elsewhere",
                             .expires_in = 90s,
                             .expires_at = std::chrono::system_clock::time_point(std::chrono::seconds(2'000'000'000)),
                             .encrypt = false,
                             .jid = "0123456789abcdef01234567",
                             .display_class = "Lingering",
                             .members = {{"bid", R"("b1")"}},
                             .sequence = "account-7",
                             .if_failed = "pass"});
  const std::string payload = only_payload(api, "options");
  for (const char* part :
       {R"("retry":3)", R"("timeout":120)", R"("backtrace":true)", R"("dead":false)", R"("tags":["by hand"])",
        R"("retry_for":3600)", R"("retry_queue":"elsewhere")", R"("expires_in":90)", R"("expiry":2000000000.0)",
        R"("jid":"0123456789abcdef01234567")", R"("display_class":"Lingering")", R"("bid":"b1")",
        R"("sequence":"account-7")", R"("if_failed":"pass")"})
    EXPECT(has(payload, part));

  client.enqueue(Everything{.list = {"a"}, .any = {.text = "1.0"}}, {.queue = "options"});
  const std::string by_class = only_payload(api, "options");
  for (const char* part :
       {R"("class":"Consumer::Everything")", R"("retry":5)", R"("backtrace":10)", R"("dead":false)",
        R"("tags":["one","two"])", R"("retry_for":3600)", R"("retry_queue":"again")", R"("expires_in":86400)", ",1.0"})
    EXPECT(has(by_class, part));
  EXPECT(brood::Json{.text = "1"} != brood::Json{.text = "1.0"});
  EXPECT_THROW(std::invalid_argument, client.enqueue(Everything{.any = {.text = "{"}}));
  EXPECT_THROW(std::invalid_argument, client.enqueue(Lingers{}, {.queue = "a b"}));
}

void enqueue_once(brood::Client& client, brood::Api& api) {
  const std::string jid = client.enqueue(OnceUntilDone{.number = 1}, {.queue = "once"});
  EXPECT(!jid.empty() && client.enqueue(OnceUntilDone{.number = 1, .note = "another"}, {.queue = "once"}).empty());
  EXPECT(client.holder(OnceUntilDone{.number = 1}, {.queue = "once"}) == jid);
  EXPECT(has(only_payload(api, "once"), R"("unique_by":[1])"));
  EXPECT(client.holder(OnceUntilDone{.number = 1}, {.queue = "once"}).empty());
  client.enqueue(OnceUntilStart{}, {.queue = "once"});
  EXPECT(has(only_payload(api, "once"), R"("unique_for":600,"unique_until":"start")"));
  client.enqueue(OneAtATime{}, {.queue = "once"});
  EXPECT(has(only_payload(api, "once"), R"("unique_until":"running")"));
  client.enqueue(OneAndNoMore{}, {.queue = "once"});
  EXPECT(has(only_payload(api, "once"), R"("on_conflict":"drop")"));
  client.enqueue(OnceUntilStart{}, {.queue = "once", .on_conflict = brood::OnConflict::extend});
  EXPECT(has(only_payload(api, "once"), R"("on_conflict":"extend")"));
  client.enqueue(OnceUntilStart{}, {.queue = "once"});
  EXPECT(!client.enqueue(OnceUntilStart{}, {.queue = "once", .on_conflict = brood::OnConflict::replace}).empty());
  EXPECT(has(only_payload(api, "once"), R"("on_conflict":"replace")"));
  client.enqueue(OneAtATime{}, {.queue = "once", .unique = false});
  EXPECT(!has(only_payload(api, "once"), "unique"));
  client.enqueue(Lingers{}, {.queue = "once", .unique = true, .unique_for = 60s});
  EXPECT(has(only_payload(api, "once"), R"("unique_for":60)"));
}

void follow(brood::Client& client, brood::Api& api) {
  const std::string jid = client.enqueue(Lingers{}, {.queue = "kept", .keep_result = 60s});
  brood::JobReport report = client.find(jid).value();
  EXPECT(report.jid == jid && report.state == brood::JobState::queued && report.error_class.empty());
  EXPECT(brood::to_string(report.state) == "queued");
  EXPECT(!client.wait(jid, 10ms));
  EXPECT(has(only_payload(api, "kept"), R"("keep_result":60)"));
  EXPECT(!client.find("nobody"));
  for (const brood::JobState state : {brood::JobState::scheduled, brood::JobState::running, brood::JobState::retrying,
                                      brood::JobState::dead, brood::JobState::done, brood::JobState::unknown})
    EXPECT(report.state != state && !brood::to_string(state).empty());
  report.result.text = "[1,2]";
  EXPECT(report.result_as<std::vector<int>>().size() == 2);
  EXPECT(report.elapsed.count() == 0 && !report.ended_at && report.error_message.empty());
}

void schedule(brood::Client& client, brood::Api& api) {
  const std::string in = client.enqueue_in(1h, Lingers{}), at = client.enqueue_at(in_an_hour, Lingers{});
  EXPECT(api.scheduled().size() == 2);
  EXPECT(client.cancel(in) && !client.cancel(in));
  EXPECT(client.cancel(at, in_an_hour) && !client.cancel(at, in_an_hour));

  const std::vector<Lingers> two(2);
  const std::vector times{in_an_hour, in_an_hour + 1h};
  EXPECT(client.enqueue_bulk_at(in_an_hour, two).size() == 2);
  const std::vector<std::string> jids = client.enqueue_bulk_at(times, two);
  EXPECT(api.scheduled().find(jids[1])->time() > in_an_hour + 59min);
  EXPECT(client.enqueue_bulk(two, {.spread = 1h, .batch_size = 1}).size() == 2);
  EXPECT(api.scheduled().size() == 6);
  EXPECT_THROW(std::invalid_argument, client.enqueue_bulk_at(std::vector{in_an_hour}, two));
  api.scheduled().clear();
  EXPECT(client.enqueue_bulk(two, {.queue = "bulk"}).size() == 2 && api.queue("bulk").size() == 2);
  api.queue("bulk").clear();
}

void push(brood::Client& client, brood::Api& api) {
  const std::string jid = client.push({.job_class = "Ruby::Job",
                                       .args = R"(["any", 1])",
                                       .queue = "parts",
                                       .retry = false,
                                       .at = in_an_hour,
                                       .jid = "abc",
                                       .members = {{"tags", R"(["slow"])"}},
                                       .shard_by = "tenant-7"});
  EXPECT(jid == "abc" && client.cancel(jid));
  client.push(brood::Push::parse(R"({"class": "Ruby::Job", "args": [1], "queue": "parts"})"));
  EXPECT(has(only_payload(api, "parts"), R"("class":"Ruby::Job","args":[1])"));
  EXPECT_THROW(std::invalid_argument, brood::Push::parse(R"({"class": "Ruby::Job"})"));
  const std::vector<brood::Push> two(2, {.job_class = "Ruby::Job"});
  EXPECT(client.push_bulk(two, {.spread = 1min, .batch_size = 1}).size() == 2 && api.scheduled().size() == 2);
  api.scheduled().clear();
}

void run_middleware(brood::Client& client, brood::Api& api) {
  client.middleware().add("tags", [](brood::Push& push, const brood::Next& next) {
    push.members.emplace_back("tags", R"(["by middleware"])");
    next();
  });
  client.middleware().add("stops", [](brood::Push& push, const brood::Next& next) {
    if (push.queue != "stopped") next();
  });
  EXPECT(client.enqueue(Lingers{}, {.queue = "stopped"}).empty());
  client.enqueue(Lingers{}, {.queue = "tagged"});
  EXPECT(has(only_payload(api, "tagged"), R"("tags":["by middleware"])"));
  EXPECT(client.middleware().remove("tags") && client.middleware().remove("stops"));
  EXPECT(brood::Client::default_middleware().exists("carry_context"));
  client.middleware().add("carry_context", brood::carry_context());  // replaces the one of that name
}

void carry_context(brood::Client& client, brood::Api& api) {
  namespace ambient = brood::ambient;
  {
    const ambient::Scope scope;
    ambient::set("tenant", "42");
    ambient::set("passing", "true");
    ambient::unset("passing");
    ambient::set_locale("de");
    ambient::set_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    EXPECT(ambient::attributes().size() == 1 && ambient::locale() == "de" && !ambient::traceparent().empty());
    client.enqueue(Lingers{}, {.queue = "carried"});
  }
  EXPECT(!ambient::get("tenant"));
  const std::string payload = only_payload(api, "carried");
  ambient::restore(payload);
  EXPECT(ambient::get("tenant") == "42");
  brood::Push push{.job_class = "Ruby::Job"};
  ambient::carry(push);
  EXPECT(push.members.size() == 3);
  ambient::clear();
  EXPECT(ambient::locale().empty());
}

void buffer(brood::Client& client, brood::Api& api) {
  client.buffer();
  client.enqueue(Lingers{}, {.queue = "buffered", .shard_by = "tenant-7"});
  EXPECT(client.buffered() == 0 && client.drain() == 0);
  only_payload(api, "buffered");

  brood::Client away("unix:///nowhere/redis.sock");
  EXPECT_THROW(brood::RedisError, away.enqueue(Lingers{}));
  away.buffer({.max_jobs = 1, .at_end = 1ms});
  const std::string jid = away.enqueue(Lingers{});
  EXPECT(away.buffered() == 1 && away.drain(50ms) == 1);
  EXPECT_THROW(brood::BufferFull, away.enqueue(Lingers{}));
  EXPECT_THROW(brood::RedisError, away.cancel(jid));  // Redis may have received it
  EXPECT_THROW(brood::RedisError, brood::Client("no://address"));
}

// As a job of a worker with redis.wait = 1 connects to a Redis without a replica.
void not_confirmed(const std::string& redis_url, brood::Api& api) {
  setenv("BROOD_REDIS_URL", redis_url.c_str(), 1);
  setenv("BROOD_REDIS_WAIT", "1", 1);
  setenv("BROOD_REDIS_WAIT_TIMEOUT_MS", "10", 1);
  brood::Client asks;
  EXPECT_THROW(brood::NotConfirmed, asks.enqueue(Lingers{}, {.queue = "unconfirmed"}));
  only_payload(api, "unconfirmed");
  for (const char* told : {"BROOD_REDIS_URL", "BROOD_REDIS_WAIT", "BROOD_REDIS_WAIT_TIMEOUT_MS"}) unsetenv(told);
}

}  // namespace

void use_client(const std::string& redis_url) {
  brood::Client client(redis_url);
  brood::Api api(redis_url);
  enqueue_with_options(client, api);
  enqueue_once(client, api);
  follow(client, api);
  schedule(client, api);
  push(client, api);
  not_confirmed(redis_url, api);
  run_middleware(client, api);
  carry_context(client, api);
  buffer(client, api);

  brood::Client by_environment;  // REDIS_URL
  brood::Client moved(std::move(by_environment));
  moved.enqueue(Lingers{}, {.queue = "moved"});
  only_payload(api, "moved");
}
