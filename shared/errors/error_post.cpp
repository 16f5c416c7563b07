#include "shared/errors/error_post.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <stdexcept>
#include <vector>

#include "shared/base/ascii.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/digest.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_writer.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_key = 200;

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= longest_key && std::all_of(text.begin(), text.end(), [](char c) {
    return ascii::is_letter_or_digit(c) || c == '_' || c == '-' || c == '.';
  });
}

// "2026-11-29T12:00:00Z"
std::string rfc3339(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

// Sentry has the outermost frame first.
std::string sentry_frames(const std::vector<std::string>& backtrace) {
  std::vector<std::string> frames(backtrace.rbegin(), backtrace.rend());
  JsonWriter all;
  return all
      .each("frames", frames,
            [](const std::string& text) {
              const BacktraceLine line = read_backtrace_line(text);
              JsonWriter frame;
              frame.text("function", line.function);
              if (!line.file.empty()) frame.text("filename", line.file);
              if (line.line > 0) frame.number("lineno", line.line);
              if (!line.module.empty()) frame.text("package", line.module);
              return frame.truth("in_app", true).object();
            })
      .object();
}

std::string end_of(const ErrorReport& report) {
  switch (report.becomes) {
    case ErrorReport::Becomes::retry:
      return fmt::format("it is tried again at {}",
                         rfc3339(WallTime(std::chrono::seconds(static_cast<std::int64_t>(report.retry_at)))));
    case ErrorReport::Becomes::dead:
      return "it is dead";
    case ErrorReport::Becomes::discarded:
      break;
  }
  return "it is not tried again";
}

// The facts of the job that both services show as they are.
JsonWriter facts_of(const ErrorReport& report) {
  JsonWriter facts;
  facts.text("jid", report.jid)
      .text("class", report.job_class)
      .text("queue", report.queue)
      .number("attempt", report.attempt())
      .text("becomes", to_string(report.becomes))
      .text("end", end_of(report))
      .text("identity", report.identity);
  if (report.generation > 0) facts.number("generation", report.generation);
  if (!report.tags.empty()) facts.texts("tags", report.tags);
  if (!report.arguments.empty()) facts.json("arguments", report.arguments);
  if (!report.crash.empty()) facts.json("crash", report.crash);
  if (report.digest)
    facts.text("digest", digest_text(report))
        .number("failures", report.digest->failures)
        .decimal("since", report.digest->since)
        .decimal("until", report.digest->until);
  return facts;
}

// Sentry takes tags of at most 200 characters.
std::string sentry_tags(const ErrorReport& report) {
  JsonWriter tags;
  const auto tag = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) tags.text(key, utf8_prefix(value, 200));
  };
  tag("job.class", report.job_class);
  tag("job.queue", report.queue);
  tag("job.jid", report.jid);
  tag("job.becomes", std::string(to_string(report.becomes)));
  tag("job.attempt", std::to_string(report.attempt()));
  if (report.digest) tag("digest.failures", std::to_string(report.digest->failures));
  return tags.object();
}

std::string event_of(const ErrorReport& report) {
  const bool is_fatal = !report.crash.empty() || report.becomes != ErrorReport::Becomes::retry;
  JsonWriter exception;
  exception.text("type", report.error_class)
      .text("value", report.message)
      .json("mechanism", R"({"type":"brood","handled":false})");
  if (!report.backtrace.empty()) exception.json("stacktrace", sentry_frames(report.backtrace));
  JsonWriter event;
  event.text("event_id", report.id)
      .decimal("timestamp", report.at)
      .text("platform", "other")
      .text("level", is_fatal ? "fatal" : "error")
      .text("logger", "brood")
      .text("transaction", report.job_class)
      .text("server_name", report.host);
  if (!report.environment.empty()) event.text("environment", report.environment);
  if (!report.release.empty()) event.text("release", report.release);
  // A crash gets a fingerprint: the addresses in its message differ each time.  Sentry groups other errors by itself.
  if (!report.fingerprint.empty())
    event.texts("fingerprint", {report.job_class, report.error_class, report.fingerprint});
  return event.json("tags", sentry_tags(report))
      .json("contexts", JsonWriter().json("job", facts_of(report).object()).object())
      .json("exception", fmt::format(R"({{"values":[{}]}})", exception.object()))
      .object();
}

}  // namespace

SentryDsn SentryDsn::parse(std::string_view dsn) {
  const std::size_t scheme = dsn.find("://");
  const std::size_t at = dsn.find('@');
  const std::size_t slash = dsn.rfind('/');
  if (scheme == dsn.npos || at == dsn.npos || at < scheme || slash == dsn.npos || slash < at)
    throw std::invalid_argument("must be https://KEY@HOST/PROJECT, as Sentry shows it");
  SentryDsn read;
  std::string_view keys = dsn.substr(scheme + 3, at - scheme - 3);
  read.key = keys.substr(0, keys.find(':'));  // older DSNs have a second, secret key, which is not needed
  read.project = dsn.substr(slash + 1);
  read.endpoint =
      HttpEndpoint::parse(fmt::format("{}://{}", dsn.substr(0, scheme), dsn.substr(at + 1, slash - at - 1)));
  if (!is_word(read.key) || !is_word(read.project))
    throw std::invalid_argument("must be https://KEY@HOST/PROJECT, as Sentry shows it");
  return read;
}

WebhookAddress WebhookAddress::parse(std::string_view url) {
  const std::size_t mark = url.find('?');
  const std::string before(url.substr(0, mark));
  WebhookAddress address;
  address.endpoint = HttpEndpoint::parse(before);
  const std::size_t path = before.find('/', before.find("://") + 3);
  address.target = path == before.npos ? "/" : before.substr(path);
  if (mark != url.npos) {
    const std::string_view query = url.substr(mark);
    const bool is_plain =
        std::all_of(query.begin(), query.end(), [](char c) { return c > ' ' && c < '\x7f' && c != '#'; });
    if (!is_plain || query.size() > 1'000) throw std::invalid_argument("has a query that is no plain text");
    address.target += query;
  }
  return address;
}

void check_api_key(std::string_view key) {
  if (!is_word(key)) throw std::invalid_argument("must be made of letters, digits, \"_\", \"-\" and \".\"");
}

HttpPost post_to_sentry(const SentryDsn& dsn, const ErrorReport& report, std::string_view version) {
  const std::string event = event_of(report);
  HttpPost post;
  post.endpoint = dsn.endpoint;
  post.target = fmt::format("{}/api/{}/envelope/", dsn.endpoint.path, dsn.project);
  post.headers = fmt::format("X-Sentry-Auth: Sentry sentry_version=7, sentry_client=brood/{}, sentry_key={}\r\n",
                             version, dsn.key);
  post.content_type = "application/x-sentry-envelope";
  post.body = fmt::format("{}\n{}\n{}\n",
                          JsonWriter()
                              .text("event_id", report.id)
                              .text("sent_at", rfc3339(wall_now()))
                              .json("sdk", JsonWriter().text("name", "brood").text("version", version).object())
                              .object(),
                          JsonWriter()
                              .text("type", "event")
                              .number("length", event.size())
                              .text("content_type", "application/json")
                              .object(),
                          event);
  return post;
}

HttpPost post_to_honeybadger(const std::string& endpoint, std::string_view api_key, const ErrorReport& report,
                             std::string_view version) {
  JsonWriter error;
  error.text("class", report.error_class)
      .text("message", report.message)
      .each("backtrace", report.backtrace,
            [](const std::string& text) {
              const BacktraceLine line = read_backtrace_line(text);
              return JsonWriter()
                  .text("number", line.line > 0 ? std::to_string(line.line) : "")
                  .text("file", line.file.empty() ? line.module : line.file)
                  .text("method", line.function)
                  .object();
            })
      .texts("tags", report.tags);
  if (!report.fingerprint.empty())
    error.text("fingerprint", sha1_hex(report.job_class + " " + report.error_class + " " + report.fingerprint));
  JsonWriter server;
  server.text("hostname", report.host);
  if (!report.environment.empty()) server.text("environment_name", report.environment);
  if (!report.release.empty()) server.text("revision", report.release);
  HttpPost post;
  post.endpoint = HttpEndpoint::parse(endpoint);
  post.target = post.endpoint.path + "/v1/notices";
  post.headers = fmt::format("Accept: application/json\r\nX-API-Key: {}\r\n", api_key);
  post.body =
      JsonWriter()
          .json("notifier", JsonWriter().text("name", "brood").text("url", "").text("version", version).object())
          .json("error", error.object())
          .json("request", JsonWriter()
                               .text("component", report.job_class)
                               .text("action", "perform")
                               .json("context", facts_of(report).object())
                               .object())
          .json("server", server.object())
          .object();
  return post;
}

HttpPost post_to_webhook(const WebhookAddress& address, std::string_view secret, const ErrorReport& report) {
  HttpPost post;
  post.endpoint = address.endpoint;
  post.target = address.target;
  post.body = report_json(report);
  post.headers =
      fmt::format("X-Brood-Event: {}\r\nX-Brood-Delivery: {}\r\n", report.digest ? "digest" : "failure", report.id);
  if (!secret.empty())
    post.headers += fmt::format("X-Brood-Signature: sha256={}\r\n", hmac_sha256_hex(secret, post.body));
  return post;
}

}  // namespace brood
