// The arguments that the code of an encrypted job gets, also from libraries whose headers do not know encryption.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include <brood/abi.hpp>

#include "shared/job/payload.hpp"
#include "worker/job/encrypted_job.hpp"
#include "worker/job/job_host.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/perform.hpp"

using namespace brood;

namespace {

constexpr const char* stored = R"({"class":"Charge","args":[1,"brood1.1.AAAA"],"jid":"b1","encrypt":true})";
constexpr const char* clear = R"([1,{"card":4111}])";

std::string args_given, payload_given;

std::string text(const brood::abi::Text& from) { return {from.data, from.size}; }

void note_call(const brood::abi::Call* call, brood::abi::Result* result) {
  args_given = text(call->args);
  payload_given = text(call->payload);
  result->kind = brood::abi::result_succeeded;
}

const brood::abi::JobClass charge = [] {
  brood::abi::JobClass job_class{};
  job_class.size = sizeof job_class;
  job_class.name = {"Charge", 6};
  job_class.perform = note_call;
  return job_class;
}();
const brood::abi::JobClass* const charges[] = {&charge};
const brood::abi::Library jobs_library = [] {
  brood::abi::Library library{};
  library.abi = brood::abi::version;
  library.size = sizeof library;
  library.job_count = 1;
  library.jobs = charges;
  return library;
}();

// As the first headers did: all of a changed payload comes from the payload's text.
void change_by_first_headers(const brood::abi::Call* call, const brood::abi::Inside* inside,
                             brood::abi::Result* result) {
  const Payload changed = Payload::parse(text(call->payload)).with({{"seen", "1"}});
  const std::string args(changed.args());
  const brood::abi::Changes changes{
      sizeof changes, call->job_class, {args.data(), args.size()}, {changed.text().data(), changed.text().size()}};
  inside->run(inside->host, &changes, result);
}
const brood::abi::Library old_middleware = [] {
  brood::abi::Library library{};
  library.abi = brood::abi::version;
  library.size = sizeof library;
  library.registered = [] { return std::uint64_t{brood::abi::registered_middleware}; };
  library.run_middleware = change_by_first_headers;
  return library;
}();

Payload opened() {
  Payload job = Payload::parse(stored);
  job.open(Secret(clear));
  return job;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_job_is_given_its_arguments_in_clear_and_the_payload_as_it_is_stored) {
  JobRegistry registry;
  registry.add(&jobs_library, "jobs");
  BOOST_CHECK(perform(registry, opened(), "default", JobHost{}).kind == Performed::Kind::succeeded);
  BOOST_TEST(args_given == clear);
  BOOST_TEST(payload_given == stored);
}

BOOST_AUTO_TEST_CASE(middleware_of_the_first_headers_that_changes_the_payload_does_not_bring_the_envelope_back) {
  JobRegistry registry;
  registry.add(&jobs_library, "jobs");
  registry.add(&old_middleware, "middleware");
  BOOST_CHECK(perform(registry, opened(), "default", JobHost{}).kind == Performed::Kind::succeeded);
  BOOST_TEST(args_given == clear);
  BOOST_TEST(payload_given == R"({"class":"Charge","args":[1,"brood1.1.AAAA"],"jid":"b1","encrypt":true,"seen":1})");
}

BOOST_AUTO_TEST_CASE(only_our_own_words_about_arguments_are_replaced) {
  BOOST_TEST(shown_message(opened(), "ArgumentError", "got 4111").find("4111") == std::string::npos);
  BOOST_TEST(shown_message(opened(), "std::runtime_error", "got 4111") == "got 4111");
  BOOST_TEST(shown_message(Payload::parse(stored), "ArgumentError", "got 4111") == "got 4111");
}
