#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/config/http_endpoint.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "supervisor/queues/set_aside_watch.hpp"
#include "tests/support/loaded_config.hpp"

using namespace brood;
using namespace brood::loaded_config;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(arguments_are_told_as_far_as_the_page_s_section_or_the_class_s_says) {
  BOOST_TEST((load("").web.show_args.of({"A"}) == ShowArgs::all));
  BOOST_TEST((load("[web]\nshow_args = true\n").web.show_args.usual == ShowArgs::all));
  const ShowArgsSettings args = load(
                                    "[web]\nshow_args = \"keys\"\n[classes.Charge]\nshow_args = \"none\"\n"
                                    "[classes.Wrapper]\nshow_args = \"all\"\n[classes.Other]\nexpired = \"dead\"\n")
                                    .web.show_args;
  BOOST_TEST((args.of({"Charge", "Charge"}) == ShowArgs::none));
  BOOST_TEST((args.of({"Other", "Other"}) == ShowArgs::keys));
  BOOST_TEST((args.of({"Mail", "Wrapper"}) == ShowArgs::all));
  BOOST_TEST((args.of({"Charge", "Wrapper"}) == ShowArgs::none));  // the stricter one of two names
  BOOST_TEST((args.of({"Wrapper", "Charge"}) == ShowArgs::none));
  BOOST_TEST((args.of_any() == ShowArgs::none));
  BOOST_TEST(complaint("[web]\nshow_args = \"some\"\n").find("none") != std::string::npos);
  BOOST_TEST(complaint("[classes.A]\nshow_args = 1\n") != "");
}

BOOST_AUTO_TEST_CASE(a_page_that_other_machines_reach_says_who_may_come) {
  const Config config = load(
      "[web]\nlisten = \"0.0.0.0:80\"\nusers = \"/users\"\nread_only = true\nhosts = [\"brood.example.com\"]\n"
      "metrics = \"host\"\nmode = \"0600\"\nshow_args = false\nbase_path = \"/a/b\"\napi_rate = 7\n");
  BOOST_TEST(
      (config.web.show_args.usual == ShowArgs::none && config.web.base_path == "/a/b" && config.web.api_rate == 7));
  BOOST_TEST(config.web.listen == "0.0.0.0:80");
  BOOST_TEST(config.web.users == "/users");
  BOOST_TEST(config.web.read_only);
  BOOST_TEST(config.web.hosts.at(0) == "brood.example.com");
  BOOST_TEST((config.web.metrics == WebSettings::Metrics::host));
  BOOST_TEST(config.web.mode == "0600");
  const auto proxied =
      load("[web]\nlisten = \"unix:/a\"\nusers = \"/u\"\nuser_header = \"X-User\"\nproxy_user = \"www-data\"\n");
  BOOST_TEST((proxied.web.user_header == "x-user" && proxied.web.proxy_user == "www-data"));
  BOOST_TEST(load("[web]\nmode = \"0666\"\nusers = \"/u\"\n").web.mode == "0666");
  for (const char* const wrong :
       {"listen = \"0.0.0.0:80\"",
        "listen = \"[::]:80\"",
        "listen = \"name:80\"",
        "listen = \"127.0.0.1\"",
        "listen = \"unix:web.sock\"",
        "listen = \"127.0.0.1:99999\"",
        "user_header = \"X-User\"",
        "mode = \"660\"",
        "metrics = \"some\"",
        "listen = \"0.0.0.0:80\"\nusers = \"/u\"\nuser_header = \"X-User\"\nproxy_user = \"p\"",
        "listen = \"127.0.0.1:80\"\nusers = \"/u\"\nuser_header = \"X-User\"\nproxy_user = \"p\"",
        "listen = \"unix:/a\"\nusers = \"/u\"\nuser_header = \"X-User\"",
        "mode = \"0666\"",
        "mode = \"0664\"",
        "users = \"/u\"\nuser_header = \"X: y\"",
        "base_path = \"brood\"",
        "base_path = \"/\"",
        "base_path = \"/a/\"",
        "base_path = \"//evil\"",
        "base_path = \"/a b\"",
        "api_rate = -1"})
    BOOST_CHECK_THROW(load("[web]\n" + std::string(wrong)), ConfigError);
}

BOOST_AUTO_TEST_CASE(a_server_of_statsd_has_an_address_in_numbers_and_words_that_end_no_line) {
  BOOST_TEST(load("").statsd.address == "");
  const Config config = load(
      "[statsd]\naddress = \"unix:/run/statsd.sock\"\nprefix = \"jobs-of-mine.\"\ntags = [\"env:test\", \"team:a\"]\n");
  BOOST_TEST(config.statsd.address == "unix:/run/statsd.sock");
  BOOST_TEST(config.statsd.prefix == "jobs-of-mine.");
  BOOST_TEST(config.statsd.has_tags);
  BOOST_TEST(config.statsd.tags.size() == 2u);
  BOOST_TEST(!load("[statsd]\nformat = \"statsd\"\n").statsd.has_tags);
  for (const char* const wrong :
       {"address = \"statsd.example.com:8125\"", "address = \"127.0.0.1\"", "format = \"graphite\"", "prefix = \"a b\"",
        "prefix = \"a:\"", "tags = [\"a,b\"]", "tags = [\"\"]", "tags = [\"a|c\"]", "tags = [\"a\\nb\"]",
        "format = \"statsd\"\ntags = [\"env:test\"]"})
    BOOST_CHECK_THROW(load("[statsd]\n" + std::string(wrong)), ConfigError);
}

BOOST_AUTO_TEST_CASE(a_collector_is_named_by_the_section_or_where_there_is_one_by_the_standard_variables) {
  setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/", 1);
  setenv("OTEL_SERVICE_NAME", "of-the-variable", 1);
  setenv("OTEL_RESOURCE_ATTRIBUTES", "team=a%2Cb, region=eu ,service.name=other", 1);
  const Config without = load(""), given = load("[otlp]\n"),
               own = load(
                   "[otlp]\nendpoint = \"http://[::1]:4318/x\"\nservice_name = \"mine\"\nresource = [\"team=c\"]\n"
                   "propagation = \"child\"\nsample = 0.5\n");
  unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT");
  unsetenv("OTEL_SERVICE_NAME");
  unsetenv("OTEL_RESOURCE_ATTRIBUTES");
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  BOOST_TEST(without.otlp.endpoint == "");
  BOOST_TEST(given.otlp.endpoint == "http://collector:4318/");
  BOOST_TEST(given.otlp.service_name == "of-the-variable");
  BOOST_TEST((given.otlp.resource == Attributes{{"team", "a,b"}, {"region", "eu"}}));
  BOOST_TEST((given.otlp.propagation == TracePropagation::link && given.otlp.sample == 1));
  BOOST_TEST(own.otlp.endpoint == "http://[::1]:4318/x");
  BOOST_TEST(own.otlp.service_name == "mine");
  BOOST_TEST((own.otlp.resource == Attributes{{"region", "eu"}, {"team", "c"}}));
  BOOST_TEST((own.otlp.propagation == TracePropagation::child && own.otlp.sample == 0.5));
  BOOST_TEST(load("[otlp]\n").otlp.endpoint == "");
  BOOST_TEST(load("[otlp]\nendpoint = \"http://a\"\n").otlp.service_name == "brood");
}

BOOST_AUTO_TEST_CASE(a_collector_that_cannot_be_reached_as_written_is_refused_in_a_sentence) {
  for (const char* const wrong :
       {"endpoint = \"https://\"", "endpoint = \"collector:4318\"", "endpoint = \"ftp://collector\"",
        "endpoint = \"http://\"", "endpoint = \"http://a:0\"", "endpoint = \"http://a:65536\"",
        "endpoint = \"http://user:secret@a:1\"", "endpoint = \"http://a:1/?x\"", "endpoint = \"http://[::1\"",
        "endpoint = \"http://a b\"", "propagation = \"parent\"", "sample = 1.5", "sample = -1", "resource = [\"a\"]",
        "resource = [\"=b\"]"})
    BOOST_CHECK_THROW(load("[otlp]\n" + std::string(wrong)), ConfigError);
  BOOST_CHECK_THROW(load("[otlp.tls]\nkey = \"k\"\n"), ConfigError);
  BOOST_CHECK_THROW(load("[otlp.tls]\nmin_version = \"1.1\"\n"), ConfigError);
}

BOOST_AUTO_TEST_CASE(a_collector_by_tls_is_trusted_as_its_section_or_where_there_is_none_the_standard_variables_say) {
  setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/their/ca.pem", 1);
  setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/our/cert.pem", 1);
  setenv("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/our/key.pem", 1);
  const std::string by_tls = "[otlp]\nendpoint = \"https://collector\"\n";
  const OtlpSettings plain = load("[otlp]\nendpoint = \"http://collector\"\n").otlp, given = load(by_tls).otlp,
                     own = load(by_tls + "[otlp.tls]\nca = \"/own.pem\"\nserver_name = \"other\"\n").otlp;
  for (const char* const name :
       {"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY"})
    unsetenv(name);

  BOOST_TEST(!plain.tls.has_value());
  BOOST_REQUIRE(given.tls.has_value());
  BOOST_TEST(given.tls->ca.path == "/their/ca.pem");
  BOOST_TEST(given.tls->cert.path == "/our/cert.pem");
  BOOST_TEST(given.tls->key.path == "/our/key.pem");
  BOOST_REQUIRE(own.tls.has_value());
  BOOST_TEST(own.tls->ca.path == "/own.pem");
  BOOST_TEST(own.tls->cert.path == "");
  BOOST_TEST(own.tls->server_name == "other");
  BOOST_TEST(!load(by_tls).otlp.tls.has_value());
  BOOST_TEST(
      (HttpEndpoint::parse("https://collector").port == 443 && HttpEndpoint::parse("http://collector").port == 80));
}

BOOST_AUTO_TEST_CASE(tls_for_a_collector_without_it_is_warned_of) {
  BOOST_TEST(load("[otlp]\nendpoint = \"https://a\"\n[otlp.tls]\n").warnings.empty());
  const auto warnings = load("[otlp]\nendpoint = \"http://a\"\n[otlp.tls]\n").warnings;
  BOOST_REQUIRE(warnings.size() == 1u);
  BOOST_TEST(warnings.front().find("[otlp.tls]") != std::string::npos, warnings.front());
}

BOOST_AUTO_TEST_CASE(a_cap_names_its_queues_and_how_many_workers_may_hold_their_jobs) {
  const Config config = load(
      "queues = ['a']\n[limits.erp]\nqueues = ['erp', 'crm']\nconcurrent = 4\n"
      "[capsules.more]\nqueues = ['erp']\n");
  for (const CapsuleSettings& capsule : config.capsules) {
    BOOST_REQUIRE_EQUAL(caps_of(capsule.caps, "crm").size(), 1u);
    BOOST_TEST(caps_of(capsule.caps, "crm")[0]->name == "erp");
    BOOST_TEST(caps_of(capsule.caps, "erp").at(0)->most == 4);
    BOOST_TEST(caps_of(capsule.caps, "a").empty());
  }
  BOOST_TEST(complaint("[limits.erp]\nconcurrent = 4").find("needs queues") != std::string::npos);
  BOOST_TEST(complaint("[limits.erp]\nqueues = ['erp']").find("needs concurrent") != std::string::npos);
  BOOST_TEST(complaint("[limits.erp]\nqueues = ['*']\nconcurrent = 1").find("one by one") != std::string::npos);
  BOOST_TEST(complaint("[limits.erp]\nqueues = ['a']\nconcurrent = 0").find("between 1 and") != std::string::npos);
  BOOST_TEST(complaint("[limits.erp]\nqueues = ['a']\nconcurrent = 1\nper = 'hour'").find("brood::Limiter") !=
             std::string::npos);
  BOOST_TEST(complaint("[limits.erp]\nqueues = ['a']\nconcurrent = 1\nper = 'class'").find("does not name") !=
             std::string::npos);
  const std::string two = "[limits.a]\nqueues = ['q']\nconcurrent = 1\n[limits.b]\nqueues = ['q']\nconcurrent = 1";
  BOOST_TEST(complaint(two).find("has the cap") != std::string::npos);
  const std::string shards = "[[redis.shard]]\nurl = 'redis://a'\n[[redis.shard]]\nurl = 'redis://b'\n";
  BOOST_TEST(complaint(shards + "[limits.a]\nqueues = ['q']\nconcurrent = 1").find("concurrent = 2 at least") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_cap_of_classes_sets_their_jobs_aside_beside_their_queue) {
  const std::vector<CapSettings> caps =
      load(
          "queues = ['a', 'b']\n[limits.erp]\nclasses = ['A', 'B']\nconcurrent = 2\n"
          "[limits.b]\nqueues = ['b']\nconcurrent = 5\n[limits.c]\nqueues = ['b']\nclasses = ['C']\nconcurrent = 1")
          .capsules[0]
          .caps;
  BOOST_TEST(aside_for(caps, "a", "A") == "a@erp");
  BOOST_TEST(aside_for(caps, "a@erp", "A") == "");
  BOOST_TEST(aside_for(caps, "b@erp", "C") == "b@c");
  BOOST_TEST(aside_for(caps, "a", "C") == "");
  BOOST_TEST(home_of(caps, "a@erp") == "a");
  BOOST_TEST(home_of(caps, "a@c") == "a@c");
  BOOST_TEST(home_of(caps, "a@b") == "a@b");
  BOOST_TEST((asides_of(caps, "b") == std::vector<std::string>{"b@erp", "b@c"}) ==
             (asides_of(caps, "b").front() == "b@erp"));
  BOOST_TEST(asides_of(caps, "b").size() == 2u);
  BOOST_TEST(asides_of(caps, "*").empty());
  BOOST_TEST(caps_of(caps, "a").empty());
  BOOST_TEST(caps_of(caps, "a@erp").size() == 1u);
  BOOST_TEST(caps_of(caps, "b@erp").size() == 2u);  // the queue's own too
  const std::string two =
      "[limits.x]\nclasses = ['A']\nconcurrent = 1\n[limits.y]\nqueues = ['q']\nclasses = ['A']\nconcurrent = 1";
  BOOST_TEST(complaint(two).find("the class \"A\" has the cap") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_cap_per_queue_or_class_is_one_for_each) {
  const std::vector<CapSettings> queues =
      load("[limits.t]\nqueues = ['a', 'b']\nconcurrent = 2\nper = 'queue'").capsules[0].caps;
  BOOST_REQUIRE_EQUAL(queues.size(), 2u);
  BOOST_TEST(caps_of(queues, "a").at(0)->name == "t.a");
  BOOST_TEST(caps_of(queues, "b").at(0)->most == 2);
  const std::vector<CapSettings> classes =
      load("[limits.t]\nclasses = ['A', 'N::B']\nconcurrent = 1\nper = 'class'").capsules[0].caps;
  BOOST_TEST(aside_for(classes, "q", "N::B") == "q@t.N::B");
  BOOST_TEST(aside_for(classes, "q", "A") == "q@t.A");
}

BOOST_AUTO_TEST_CASE(queues_beside_others_are_asked_in_front_of_them_and_paused_with_them) {
  const std::vector<CapSettings> caps{{"k", {}, 1, {"K"}}};
  using Names = std::vector<std::string>;
  BOOST_TEST((with_asides({"a", "*"}, caps, {}) == Names{"a@k", "a", "*"}));
  BOOST_TEST((with_asides({"a@k", "a"}, caps, {}) == Names{"a@k", "a"}));
  BOOST_TEST(with_asides({"a@k"}, caps, {.names = {}, .paused = {"a"}}).empty());
  BOOST_TEST((with_asides({"a"}, caps, {.names = {}, .paused = {"a@k"}}) == Names{"a"}));
  BOOST_TEST((with_asides({"a"}, {{"erp", {"a"}, 1}}, {}) == Names{"a"}));
}

BOOST_AUTO_TEST_CASE(only_what_no_cap_sets_aside_any_more_is_given_back_to_queues_that_are_served) {
  const std::vector<CapsuleSettings> ours =
      load("queues = ['a', 'b']\n[limits.k]\nclasses = ['K']\nconcurrent = 1").capsules;
  const std::vector<LeftAside> left = left_aside({"a@k", "a@old", "c@old", "x"}, ours);
  BOOST_TEST((left == std::vector<LeftAside>{{"a@old", "a"}}));
}

BOOST_AUTO_TEST_CASE(shards_share_the_places_of_a_cap) {
  const std::vector<CapSettings> caps{{"erp", {"erp"}, 5}};
  BOOST_TEST(share_of(caps, 0, 1)[0].most == 5);
  BOOST_TEST(share_of(caps, 0, 3)[0].most == 2);
  BOOST_TEST(share_of(caps, 1, 3)[0].most == 2);
  BOOST_TEST(share_of(caps, 2, 3)[0].most == 1);
}

BOOST_AUTO_TEST_CASE(the_unit_of_times_is_that_of_the_release_unless_it_is_said) {
  BOOST_CHECK(!load("").compatibility.time_unit());
  BOOST_CHECK(load("[compatibility]\nsidekiq = '7'").compatibility.time_unit() == TimeUnit::float_seconds);
  BOOST_CHECK(load("[compatibility]\nsidekiq = '8'").compatibility.time_unit() == TimeUnit::integer_milliseconds);
  BOOST_CHECK(load("[compatibility]\nsidekiq = '8'\ntimestamps = 'seconds'").compatibility.time_unit() ==
              TimeUnit::float_seconds);
}

BOOST_AUTO_TEST_CASE(a_program_for_errors_has_a_few_seconds) {
  BOOST_CHECK(load("[on_error]\nrun = ['report']").on_error->timeout == 3s);
  BOOST_CHECK(!load("[on_error]\n").on_error);
}

BOOST_AUTO_TEST_CASE(services_for_errors_have_their_settings) {
  BOOST_TEST(!load("[on_error]\nrun = ['report']").errors.has_service());
  const ErrorSettings errors =
      load(
          "[on_error]\nsentry_dsn = 'env:DSN'\nhoneybadger_api_key_file = 'credential:key'\n"
          "webhook = 'https://h'\nwebhook_secret = 's'\nwhen = 'death'\narguments = true\n"
          "storm_after = 0\nqueue = 5\nat_once = 3\nrelease = 'r'\n[on_error.tls]\nca = '/c'\n")
          .errors;
  BOOST_TEST(errors.has_service());
  BOOST_TEST(errors.sentry_dsn.variable == "DSN");
  BOOST_TEST(errors.honeybadger_api_key.file == "credential:key");
  BOOST_TEST((errors.webhook.value == "https://h"));
  BOOST_TEST((errors.when == ErrorSettings::When::death && errors.arguments && !errors.backtrace));
  BOOST_TEST((errors.storm_after == 0 && errors.queue == 5 && errors.at_once == 3));
  BOOST_TEST(errors.tls.value().ca.path == "/c");
  const ErrorSettings usual = load("[on_error]\n").errors;
  BOOST_TEST((usual.when == ErrorSettings::When::failure && !usual.arguments && usual.storm_after == 10));
  for (const char* const wrong : {"sentry_dsn = ''", "sentry_dsn = 'env:a=b'", "when = 'never'", "storm_after = -1",
                                  "queue = 0", "at_once = 0", "webhook_secret = 'x'", "honeybadger_endpoint = 'h'"})
    BOOST_CHECK_THROW(load("[on_error]\n" + std::string(wrong)), ConfigError);
}

BOOST_AUTO_TEST_CASE(a_periodic_job_is_enabled_where_a_label_is) {
  const Config config = load(
      "labels = ['cron']\n[periodic.a]\ncron = '@daily'\nclass = 'A'\nenabled_on = ['cron', 'x']\n"
      "[periodic.b]\ncron = '@daily'\nclass = 'A'\nenabled_on = ['x']\n[periodic.c]\ncron = '@daily'\nclass = 'A'\n");
  BOOST_TEST(config.periodic.at("a").is_enabled_on(config.labels));
  BOOST_TEST(!config.periodic.at("b").is_enabled_on(config.labels));
  BOOST_TEST(config.periodic.at("c").is_enabled_on(config.labels));
  BOOST_TEST(complaint("[periodic.a]\ncron = '@daily'\nclass = 'A'\nenabled_on = []").find("names no label") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_pause_of_a_periodic_job_says_where_it_stands) {
  const Config config = load(
      "[periodic.a]\ncron = '@daily'\nclass = 'A'\npaused = true\n"
      "[periodic.b]\ncron = '@daily'\nclass = 'A'\npaused = false\n");
  BOOST_TEST(config.periodic.at("a").paused_at.ends_with(":4: periodic.a.paused"), config.periodic.at("a").paused_at);
  BOOST_TEST(config.periodic.at("b").paused_at.empty());
  BOOST_TEST(!complaint("[periodic.a]\ncron = '@daily'\nclass = 'A'\npaused = 'yes'").empty());
}

// A name that matches no request is refused.
BOOST_AUTO_TEST_CASE(names_of_the_page_are_whole_names) {
  const auto hosts = [](const std::string& name) { return load("[web]\nhosts = [\"" + name + "\"]\n").web.hosts; };
  BOOST_TEST(hosts("Brood.Example.com:8443").at(0) == "brood.example.com:8443");
  BOOST_TEST(hosts("[2001:db8::1]").at(0) == "[2001:db8::1]");
  BOOST_TEST(hosts("10.0.0.7").at(0) == "10.0.0.7");
  for (const std::string wrong : {"10.0.0.0/8", "2001:db8::/32", "https://brood.example.com", "*.example.com",
                                  "brood.example.com/brood", "2001:db8::1", "a b", ""})
    BOOST_CHECK_THROW(hosts(wrong), ConfigError);
  BOOST_TEST(complaint("[web]\nhosts = [\"10.0.0.0/8\"]\n").find("range of addresses") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_metrics_hold_may_be_left_to_an_election) {
  BOOST_TEST((load("").web.metrics == WebSettings::Metrics::elected));
  BOOST_TEST((load("[web]\nmetrics = \"auto\"\n").web.metrics == WebSettings::Metrics::elected));
}
