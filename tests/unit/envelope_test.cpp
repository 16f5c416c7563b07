#include "shared/encryption/envelope.hpp"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/base/base64.hpp"
#include "shared/config/config.hpp"
#include "shared/config/job_environment.hpp"
#include "shared/encryption/last_argument.hpp"
#include "shared/job/page_text.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

std::string some_key(char first) {
  std::string key(encryption_key_size, '\0');
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<char>(first + static_cast<char>(i));
  return key;
}

struct Keys {
  TemporaryDirectory directory;
  EncryptionSettings settings;

  std::string add(int version, const std::string& content, mode_t mode = 0400) {
    const std::string path = directory.write("key" + std::to_string(version), content);
    BOOST_REQUIRE(chmod(path.c_str(), mode) == 0);
    settings.keys[version] = {path, "brood.toml:3: encryption.keys." + std::to_string(version)};
    return path;
  }
  KeyRing read() const { return KeyRing::read(settings); }
  std::string refusal() const {
    try {
      read();
    } catch (const KeyError& error) {
      return error.what();
    }
    return "";
  }
};

KeyRing ring_of(const std::string& key, int version = 7) {
  Keys keys;
  keys.add(version, key);
  return keys.read();
}

const EnvelopeOwner owner{"Charge", "b1"};

std::string opened(const KeyRing& keys, const std::string& envelope, const EnvelopeOwner& whose = owner) {
  std::string clear;
  open_envelope(keys, envelope, whose, clear);
  return clear;
}

std::string why_not(const KeyRing& keys, const std::string& envelope, const EnvelopeOwner& whose = owner) {
  try {
    opened(keys, envelope, whose);
  } catch (const DecryptionError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Payload job_with(const std::string& args, const std::string& more = R"("encrypt":true)") {
  return Payload::parse(R"({"class":"Charge","args":)" + args + R"(,"jid":"b1",)" + more + "}");
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_format_is_the_one_that_other_programs_write) {
  const std::string by_ruby = "brood1.7.AAECAwQFBgcICQoLPCC1ereB4CGvdaa6gMsFPD9yH6_P8IDs7JKOqdR6Vw";
  BOOST_TEST(opened(ring_of(some_key(0)), by_ruby) == R"({"card":"4111"})");
}

BOOST_AUTO_TEST_CASE(what_is_sealed_opens_for_its_job_alone) {
  const KeyRing keys = ring_of(some_key(1));
  const std::string envelope = seal(keys, R"({"card":"4111"})", owner);
  BOOST_TEST(envelope.starts_with("brood1.7."));
  BOOST_TEST(opened(keys, envelope) == R"({"card":"4111"})");
  BOOST_TEST(seal(keys, R"({"card":"4111"})", owner) != envelope);  // another nonce
  BOOST_TEST(has(why_not(keys, envelope, {"Charge", "b2"}), "this class and jid"));
  BOOST_TEST(has(why_not(keys, envelope, {"Refund", "b1"}), "this class and jid"));
  BOOST_TEST(has(why_not(keys, envelope, {"Charge\nb", "1"}), "this class and jid"));
  BOOST_TEST(has(why_not(ring_of(some_key(2)), envelope), "key of version 7"));
  BOOST_TEST(has(why_not(ring_of(some_key(1), 8), envelope), "no key of version 7"));
  BOOST_TEST(has(why_not(KeyRing{}, envelope), "no key of version 7"));
  BOOST_TEST(opened(keys, seal(keys, "", owner)) == "");
  const std::string large(1 << 20, 'x');
  BOOST_TEST((opened(keys, seal(keys, large, owner)) == large));
  BOOST_CHECK_THROW(seal(KeyRing{}, "x", owner), KeyError);
}

BOOST_AUTO_TEST_CASE(no_changed_character_goes_unnoticed) {
  const KeyRing keys = ring_of(some_key(3));
  const std::string envelope = seal(keys, R"([1,2,"three"])", owner);
  for (std::size_t i = 0; i < envelope.size(); ++i) {
    for (const char c : {'A', 'z', '.', '=', '\0', '\xff', '1'}) {
      std::string changed = envelope;
      if (changed[i] == c) continue;
      changed[i] = c;
      BOOST_TEST(why_not(keys, changed) != "");
    }
    BOOST_TEST(why_not(keys, envelope.substr(0, i)) != "");
  }
  BOOST_TEST(why_not(keys, envelope + "A") != "");
}

BOOST_AUTO_TEST_CASE(what_is_no_envelope_is_refused_with_a_sentence) {
  const KeyRing keys = ring_of(some_key(4), 1);
  for (const std::string text : {"",
                                 "brood1",
                                 "brood1.",
                                 "brood1.1",
                                 "brood1.1.",
                                 "brood1..AAAA",
                                 "brood1.0.AAAA",
                                 "brood1.01.AAAA",
                                 "brood1.-1.AAAA",
                                 "brood1.+1.AAAA",
                                 "brood1.1x.AAAA",
                                 "brood1.99999999999999999999.AAAA",
                                 "brood1.1000001.AAAA",
                                 "brood2.1.AAAA",
                                 "BROOD1.1.AAAA",
                                 " brood1.1.AAAA",
                                 "brood1.1.A",
                                 "brood1.1.AAAA",
                                 "brood1.1.AA==",
                                 "brood1.1.++++",
                                 "brood1.1.....",
                                 "a string",
                                 "[1]"})
    BOOST_TEST(why_not(keys, text) != "");
  std::minstd_rand random(11);
  const std::string good = seal(keys, "{}", owner);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
    if (random() % 4 == 0) text.resize(random() % text.size());
    if (text == good) continue;
    BOOST_TEST(why_not(keys, text) != "");
  }
}

BOOST_AUTO_TEST_CASE(base64_is_read_back_and_no_text_means_the_same_as_another) {
  for (std::size_t size = 0; size < 40; ++size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 37 + size);
    BOOST_TEST((read_base64url(base64url_of(bytes)) == bytes));
  }
  BOOST_TEST(base64url_of("\xfb\xff\xfe") == "-__-");
  BOOST_TEST(!read_base64url("AB").has_value());  // bits that no byte has
  BOOST_TEST(!read_base64url("A").has_value());
  BOOST_TEST(!read_base64url("AA==").has_value());
  BOOST_TEST((read_base64_of_any_kind("+/8=") == "\xfb\xff"));
}

BOOST_AUTO_TEST_CASE(keys_are_32_bytes_or_their_base64_and_not_readable_by_all) {
  const std::string key = some_key(-16);  // with bytes that are / and + in base64
  const std::string envelope = seal(ring_of(key), "x", owner);
  const std::string text = base64url_of(key);
  std::string with_padding = text;
  for (char& c : with_padding) c = c == '-' ? '+' : c == '_' ? '/' : c;
  for (const std::string& content : {text, text + "\n", " " + text + "\r\n", with_padding + "=\n", with_padding})
    BOOST_TEST(opened(ring_of(content), envelope) == "x");

  Keys keys;
  const std::string path = keys.add(1, "too short");
  BOOST_TEST(has(keys.refusal(), "brood.toml:3: encryption.keys.1: " + path + " holds no key"));
  BOOST_TEST(!has(keys.refusal(), "too short"));
  for (const std::string& content :
       {std::string(), key + key, text + text, key.substr(1), std::string(1000, 'A'), key + "\n"}) {
    chmod(path.c_str(), 0600);
    keys.add(1, content);
    BOOST_TEST(has(keys.refusal(), "holds no key"));
  }
  chmod(path.c_str(), 0600);
  keys.add(1, key, 0444);
  BOOST_TEST(has(keys.refusal(), "chmod 0400"));
  chmod(path.c_str(), 0440);
  BOOST_TEST(keys.refusal() == "");
  keys.settings.keys[2] = {keys.directory / "missing", "x"};
  BOOST_TEST(has(keys.refusal(), "No such file"));
  keys.settings.keys[2] = {keys.directory.path(), "x"};
  BOOST_TEST(has(keys.refusal(), "is no regular file"));
}

BOOST_AUTO_TEST_CASE(the_highest_version_encrypts_unless_another_is_active) {
  Keys keys;
  keys.add(2, some_key(2));
  const std::string old = seal(keys.read(), "old", owner);
  keys.add(11, some_key(11));
  BOOST_TEST(seal(keys.read(), "x", owner).starts_with("brood1.11."));
  BOOST_TEST(opened(keys.read(), old) == "old");
  keys.settings.active = 2;
  BOOST_TEST(seal(keys.read(), "x", owner).starts_with("brood1.2."));
  keys.settings.active = 3;
  BOOST_TEST(has(keys.refusal(), "version 3"));
}

BOOST_AUTO_TEST_CASE(jobs_are_told_where_keys_lie_and_never_what_they_are) {
  EncryptionSettings settings;
  settings.keys = {{1, {"/etc/brood/key1", ""}}, {12, {"/etc/brood/key12", ""}}};
  settings.active = 1;
  tell_jobs_of_keys(settings, true);
  const EncryptionSettings told = keys_told();
  BOOST_TEST(told.keys.at(1).path == "/etc/brood/key1");
  BOOST_TEST(told.keys.at(12).path == "/etc/brood/key12");
  BOOST_TEST(told.active == 1);
  tell_jobs_of_keys(settings, false);
  BOOST_TEST(keys_told().keys.empty());
  for (const char* const wrong : {"1", "x=/k", "0=/k", "1=", "active=x", ",", "=", "-1=/k"})
    BOOST_CHECK_THROW(keys_told([&](const char*) { return wrong; }), ConfigError);
}

BOOST_AUTO_TEST_CASE(only_the_last_argument_is_sealed_and_every_other_byte_stays) {
  const KeyRing keys = ring_of(some_key(5));
  const std::string args = R"([ 1.0, 1e-05 , {"a":[]}, {"card":"4111", "n":1180591620717411303424} ])";
  const std::string sealed = with_last_argument_sealed(args, keys, owner);
  BOOST_TEST(sealed.starts_with(R"([ 1.0, 1e-05 , {"a":[]}, "brood1.7.)"));
  BOOST_TEST(sealed.ends_with("\" ]"));
  BOOST_TEST(!has(sealed, "4111"));
  BOOST_TEST(arguments_in_clear(job_with(sealed), keys).view() == args);
  for (const std::string one : {"[null]", "[true]", "[\"\"]", "[\"brood\"]", "[[]]", "[0]", R"(["\ud800"])"})
    BOOST_TEST(arguments_in_clear(job_with(with_last_argument_sealed(one, keys, owner)), keys).view() == one);
  BOOST_CHECK_THROW(with_last_argument_sealed("[]", keys, owner), std::invalid_argument);
  BOOST_CHECK_THROW(with_last_argument_sealed("{}", keys, owner), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(what_is_sealed_already_is_not_sealed_again_and_what_looks_so_is) {
  const KeyRing keys = ring_of(some_key(6));
  const std::string sealed = with_last_argument_sealed("[1,2]", keys, owner);
  BOOST_TEST(with_last_argument_sealed(sealed, keys, owner) == sealed);
  // It belongs to another job.  Its owner forbids to open it here, so it is taken for plain text.
  BOOST_TEST(with_last_argument_sealed(sealed, keys, {"Charge", "b2"}) != sealed);
  BOOST_TEST(!has(with_last_argument_sealed(R"(["brood1.7.AAAA"])", keys, owner), "AAAA\""));
  // It has a key that this client does not have, so the client cannot decide whether it is an envelope.
  const std::string of_another_key = R"(["brood1.9.)" + std::string(40, 'A') + R"("])";
  BOOST_TEST(with_last_argument_sealed(of_another_key, keys, owner) == of_another_key);
  for (const std::string none : {"brood1.9.AAAA", "brood1.9.my plain secret 4111 which is as long as an envelope"})
    BOOST_TEST(!has(with_last_argument_sealed("[\"" + none + "\"]", keys, owner), none));
}

BOOST_AUTO_TEST_CASE(a_job_that_says_encrypt_and_is_not_is_refused) {
  const KeyRing keys = ring_of(some_key(6));
  for (const std::string args :
       {"[]", "[1]", "[null]", "[{}]", R"(["text"])", R"(["brood1.7.AAAA"])", R"(["brood1.7."])"})
    BOOST_CHECK_THROW(arguments_in_clear(job_with(args), keys), DecryptionError);
  const std::string no_json = seal(keys, "no json", owner), two = seal(keys, "1,2", owner);
  BOOST_CHECK_THROW(arguments_in_clear(job_with("[\"" + no_json + "\"]"), keys), DecryptionError);
  BOOST_CHECK_THROW(arguments_in_clear(job_with("[\"" + two + "\"]"), keys), DecryptionError);
}

BOOST_AUTO_TEST_CASE(an_open_payload_keeps_its_bytes) {
  const KeyRing keys = ring_of(some_key(8));
  const std::string sealed = with_last_argument_sealed("[1,{\"card\":4111}]", keys, owner);
  Payload job = job_with(sealed);
  BOOST_TEST(job.args_in_clear() == sealed);
  job.open(arguments_in_clear(job, keys));
  BOOST_TEST(job.args_in_clear() == "[1,{\"card\":4111}]");
  BOOST_TEST(job.args() == sealed);
  BOOST_TEST(job.text() == job_with(sealed).text());
  const Payload record = job.with({{"retry_count", "0"}});
  BOOST_TEST(!has(record.text(), "4111"));
  BOOST_TEST(record.args_in_clear() == "[1,{\"card\":4111}]");
  job.read(job_with("[2]").text());
  BOOST_TEST(job.args_in_clear() == "[2]");
}

BOOST_AUTO_TEST_CASE(lists_show_no_envelope) {
  BOOST_TEST(shown_args(job_with(R"([1, "brood1.7.AAAA"])").text()) == R"([1, "[encrypted data]"])");
  BOOST_TEST(shown_args(job_with(R"([1, "two"])", R"("encrypt":false)").text()) == R"([1, "two"])");
  BOOST_TEST(shown_args(job_with("[]").text()) == "[]");
  BOOST_TEST(shown_args("rubbish") == "[]");
}
