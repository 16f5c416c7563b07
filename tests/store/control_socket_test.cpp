#include "supervisor/control/control_socket.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/json/json.hpp"
#include "tests/support/listening_socket.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

int open_descriptors() {
  int count = 0;
  DIR* const all = opendir("/proc/self/fd");
  while (readdir(all)) ++count;
  closedir(all);
  return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_request_reaches_the_handler_and_its_answer_the_client) {
  Listening listening;
  const UniqueFd client = listening.request("1 kill [\"a jid \\u00e9\\n\", \"retry\"]\n");
  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.asked.size() == 1; }));
  BOOST_TEST(listening.asked[0].verb == "kill");
  BOOST_TEST(listening.asked[0].arguments == (std::vector<std::string>{"a jid \u00e9\n", "retry"}),
             boost::test_tools::per_element());

  listening.asked[0].reply.progress("one\nline");
  listening.asked[0].reply.progress("two");
  listening.asked[0].reply.ok("{\n\"slot\":3}");
  listening.asked[0].reply.error("too late");

  BOOST_TEST(listening.conversation(client) == "progress \"one\\nline\"\nprogress \"two\"\nok { \"slot\":3}\n");
  BOOST_TEST(listening.socket->clients() == 0u);
}

BOOST_AUTO_TEST_CASE(only_its_own_user_may_open_it_and_it_is_gone_with_its_owner) {
  Listening listening;
  struct stat about {};
  BOOST_TEST_REQUIRE(lstat(listening.path.c_str(), &about) == 0);
  BOOST_TEST(S_ISSOCK(about.st_mode));
  BOOST_TEST((about.st_mode & 07777) == 0600u);
  listening.socket.reset();
  BOOST_TEST(access(listening.path.c_str(), F_OK) != 0);
  DIR* const all = opendir(listening.directory.path().c_str());
  int left = 0;
  while (const dirent* entry = readdir(all)) left += entry->d_name[0] != '.' || entry->d_name[1] >= '0';
  closedir(all);
  BOOST_TEST(left == 0);
}

BOOST_AUTO_TEST_CASE(another_users_client_is_refused_even_where_the_file_lets_it_in) {
  if (geteuid() != 0) {
    BOOST_TEST_MESSAGE("SKIP: only root can become another user");
    return;
  }
  Listening listening;
  chmod(listening.directory.path().c_str(), 0755);
  chmod(listening.path.c_str(), 0666);
  const pid_t stranger = check("fork", fork());
  if (stranger == 0) {
    if (setuid(65534) != 0) _exit(2);
    const UniqueFd client = listening.connect();
    pollfd answered{client.get(), POLLIN, 0};
    poll(&answered, 1, 10'000);
    char bytes[512];
    const ssize_t size = recv(client.get(), bytes, sizeof bytes, 0);
    const std::string text(bytes, size > 0 ? static_cast<std::size_t>(size) : 0);
    _exit(text == "error \"this supervisor is another user's\"\n" ? 0 : 1);
  }
  int status = -1;
  BOOST_TEST(listening.run_until([&] { return waitpid(stranger, &status, WNOHANG) == stranger; }));
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(a_path_longer_than_a_socket_address_works) {
  Listening listening;
  std::string deep = listening.directory.path();
  for (int i = 0; i < 3; ++i) mkdir((deep += "/" + std::string(100, 'd')).c_str(), 0700);
  listening.path = control_socket_path(deep, std::string(64, 'h') + "/x:4194304:abcdefabcdef");
  listening.open();
  BOOST_TEST(listening.path.ends_with("h_x_4194304_abcdefabcdef.control"));
  BOOST_TEST(listening.answers());
}

BOOST_AUTO_TEST_CASE(a_socket_without_a_listener_is_replaced_and_anything_else_is_not) {
  Listening listening;
  BOOST_CHECK_THROW(ControlSocket(listening.loop, listening.path, {}), std::runtime_error);
  BOOST_TEST(listening.answers());

  const std::string stale = listening.directory / "stale.control";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  stale.copy(address.sun_path, sizeof address.sun_path - 1);
  {
    const UniqueFd left(socket(AF_UNIX, SOCK_STREAM, 0));
    BOOST_TEST_REQUIRE(bind(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    listen(left.get(), 1);
  }
  listening.path = stale;
  listening.open();
  BOOST_TEST(listening.answers());

  const std::string precious = listening.directory.write("precious.control", "text");
  BOOST_CHECK_THROW(ControlSocket(listening.loop, precious, {}), std::runtime_error);
  BOOST_TEST(access(precious.c_str(), F_OK) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_not_understood_is_answered_with_a_sentence_and_closed) {
  Listening listening;
  const std::vector<std::string> misunderstandings = {"2 kill []\n",
                                                      "kill\n",
                                                      "\n",
                                                      "1\n",
                                                      "1 \n",
                                                      "1 kill\n",
                                                      "1  []\n",
                                                      "1 KILL []\n",
                                                      "1 kill {}\n",
                                                      "1 kill [1]\n",
                                                      "1 kill [[\"a\"]]\n",
                                                      "1 kill [\"\n",
                                                      "1 kill [] []\n",
                                                      "1 kill [\"\\ud800\xff\"]\n",
                                                      "GET / HTTP/1.1\r\n",
                                                      "1 kill []\n1 kill []\n",
                                                      std::string("\x80\0\xff\n", 4)};
  for (const std::string& text : misunderstandings) {
    const std::string answer = listening.conversation(listening.request(text));
    BOOST_TEST(answer.starts_with("error \""), text << " was answered " << answer);
    BOOST_TEST(answer.find('\n') == answer.size() - 1);
  }
  BOOST_TEST(listening.conversation(listening.request("2 kill []\n")) ==
             "error \"this supervisor speaks version 1 of the control protocol, and no other\"\n");
  BOOST_TEST(listening.conversation(listening.request("1 throw []\n")) == "error \"this verb throws\"\n");
  BOOST_TEST(listening.conversation(listening.request("1 " + std::string(40, 'v') + " []\n")).starts_with("error \""));
  BOOST_TEST(listening.asked.empty());
  BOOST_TEST(listening.answers());
}

BOOST_AUTO_TEST_CASE(random_bytes_do_no_harm) {
  Listening listening;
  std::uint32_t seed = 12345;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = round % 3 == 0 ? "1 kill [\"" : round % 3 == 1 ? "1 " : "";
    for (int i = 0; i < 200; ++i) bytes += static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
    const UniqueFd client = listening.request(bytes + "\n");
    BOOST_TEST(listening.conversation(client).starts_with("error \""));
  }
  BOOST_TEST(listening.asked.empty());
}

BOOST_AUTO_TEST_CASE(a_request_that_never_ends_is_cut_off_at_64_kilobytes) {
  Listening listening;
  const UniqueFd client = listening.connect();
  const std::string piece(64 * 1024, 'x');
  std::size_t sent = 0;
  const bool cut_off = listening.run_until([&] {
    const ssize_t size = send(client.get(), piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size > 0) sent += static_cast<std::size_t>(size);
    return size < 0 && errno != EAGAIN;
  });
  BOOST_TEST(cut_off);
  BOOST_TEST(sent < 4u << 20);  // of 4 GB: only what the kernel buffers
  BOOST_TEST(listening.conversation(client) == "error \"a request has at most 64 KB\"\n");
  BOOST_TEST(listening.answers());
}

BOOST_AUTO_TEST_CASE(the_longest_request_comes_through_in_pieces) {
  Listening listening;
  const UniqueFd client = listening.connect();
  const std::string long_jid(60'000, 'j'), text = "1 kill [\"" + long_jid + "\"]\n";
  std::size_t sent = 0;
  BOOST_TEST(listening.run_until([&] {
    const ssize_t size = send(client.get(), text.data() + sent, std::min<std::size_t>(997, text.size() - sent), 0);
    if (size > 0) sent += static_cast<std::size_t>(size);
    return sent == text.size();
  }));
  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.asked.size() == 1; }));
  BOOST_TEST(listening.asked[0].arguments[0] == long_jid);
}

BOOST_AUTO_TEST_CASE(half_a_request_is_closed_after_ten_seconds_and_holds_up_no_client) {
  Listening listening;
  const UniqueFd half = listening.request("1 kil");
  const UniqueFd silent = listening.connect();
  const auto begun = std::chrono::steady_clock::now();
  BOOST_TEST(listening.answers());
  BOOST_TEST(listening.conversation(half) == "");
  BOOST_TEST(listening.conversation(silent) == "");
  const auto waited = std::chrono::steady_clock::now() - begun;
  BOOST_TEST((waited > 9s && waited < 15s));
  BOOST_TEST(listening.socket->clients() == 0u);
}

BOOST_AUTO_TEST_CASE(a_request_without_an_answer_may_wait_as_long_as_it_takes) {
  Listening listening;
  const UniqueFd client = listening.request("1 restart []\n");
  BOOST_TEST(listening.conversation(client, 12s) == "still open");
  listening.asked[0].reply.ok("null");
  BOOST_TEST(listening.conversation(client) == "ok null\n");
}

BOOST_AUTO_TEST_CASE(a_slow_reader_is_closed_after_ten_seconds_and_one_that_fills_a_megabyte_at_once) {
  Listening listening;
  const UniqueFd slow = listening.request("1 restart []\n"), full = listening.request("1 restart []\n");
  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.asked.size() == 2; }));
  const std::string sentence(1000, 's');
  for (int i = 0; i < 800; ++i) listening.asked[0].reply.progress(sentence);
  BOOST_TEST(!listening.asked[0].reply.client_gone());
  for (int i = 0; i < 8000; ++i) listening.asked[1].reply.progress(sentence);
  BOOST_TEST(listening.asked[1].reply.client_gone());
  BOOST_TEST(listening.socket->clients() == 1u);

  // Reading a little now and then, so that more is sent, does not count as reading.
  const auto begun = std::chrono::steady_clock::now();
  auto next = begun;
  BOOST_TEST(listening.run_until([&] {
    char bytes[20'000];
    if (std::chrono::steady_clock::now() >= next) {
      BOOST_TEST(recv(slow.get(), bytes, sizeof bytes, 0) > 0);
      next += 500ms;
    }
    return listening.socket->clients() == 0;
  }));
  const auto waited = std::chrono::steady_clock::now() - begun;
  BOOST_TEST((waited > 9s && waited < 15s));
  BOOST_TEST(listening.answers());
}

BOOST_AUTO_TEST_CASE(a_reader_that_pauses_gets_everything) {
  Listening listening;
  const UniqueFd client = listening.request("1 restart []\n");
  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.asked.size() == 1; }));
  for (int i = 0; i < 800; ++i) listening.asked[0].reply.progress(std::string(1000, 's'));
  listening.asked[0].reply.ok("1");
  const std::string text = listening.conversation(client);
  BOOST_TEST(text.size() == 800 * 1012 + 5u);
  BOOST_TEST(text.ends_with("\nok 1\n"));
}

BOOST_AUTO_TEST_CASE(a_client_that_left_before_its_answer_is_forgotten_and_the_answer_harmless) {
  Listening listening;
  UniqueFd client = listening.request("1 kill []\n");
  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.asked.size() == 1; }));
  client.reset();
  BOOST_TEST(listening.run_until([&] { return listening.socket->clients() == 0; }));
  BOOST_TEST(listening.asked[0].reply.client_gone());
  listening.asked[0].reply.progress("nobody hears this");
  listening.asked[0].reply.ok("null");
  BOOST_TEST(listening.answers());
}

BOOST_AUTO_TEST_CASE(an_answer_may_outlive_the_socket) {
  Listening listening;
  const UniqueFd client = listening.request("1 kill []\n");
  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.asked.size() == 1; }));
  listening.socket.reset();
  BOOST_TEST(listening.asked[0].reply.client_gone());
  listening.asked[0].reply.ok("null");
  listening.asked.clear();
  BOOST_TEST(listening.conversation(client) == "");
}

BOOST_AUTO_TEST_CASE(a_request_that_is_dropped_is_answered_with_an_error) {
  Listening listening;
  const UniqueFd client = listening.request("1 kill []\n");
  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.asked.size() == 1; }));
  listening.asked.clear();
  BOOST_TEST(listening.conversation(client) == "error \"the supervisor has given up on this request\"\n");
}

BOOST_AUTO_TEST_CASE(a_client_may_close_its_sending_half_and_waits_without_work_for_the_loop) {
  Listening listening;
  const UniqueFd client = listening.request("1 kill []\n");
  shutdown(client.get(), SHUT_WR);
  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.asked.size() == 1; }));
  BOOST_TEST(listening.turns_within(300ms) < 20);
  listening.asked[0].reply.ok("7");
  BOOST_TEST(listening.conversation(client) == "ok 7\n");
}

BOOST_AUTO_TEST_CASE(a_hundred_connections_take_sixteen_places_and_the_rest_are_refused) {
  Listening listening;
  std::vector<UniqueFd> crowd;
  const int before = open_descriptors();
  int told = 0;
  for (int i = 0; i < 100; ++i) {
    crowd.push_back(listening.request("1 kill []\n"));
    listening.run_until([&] { return listening.socket->clients() == 16 || listening.asked.size() == crowd.size(); });
    shutdown(crowd.back().get(), SHUT_WR);
    if (i >= 16)
      told +=
          listening.conversation(crowd.back()) == "error \"the supervisor speaks with as many clients as it can\"\n";
  }
  BOOST_TEST(told == 84);
  BOOST_TEST(listening.socket->clients() == 16u);
  BOOST_TEST(open_descriptors() - before == 100 + 2 * 16);  // each has one that stands for its process
  // Clients that leave make room, even if they had closed their sending half: their end is not reported.
  crowd.clear();
  BOOST_TEST(listening.answers());
  BOOST_TEST(open_descriptors() == before);
}

BOOST_AUTO_TEST_CASE(a_silent_client_gives_way_to_one_that_asks) {
  Listening listening;
  const UniqueFd first = listening.request("1 kill []\n");
  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.asked.size() == 1; }));
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(listening.connect());
    listening.run_until([&] { return listening.socket->clients() == std::min<std::size_t>(silent.size() + 1, 16); });
  }

  const auto begun = std::chrono::steady_clock::now();
  BOOST_TEST(listening.answers());

  BOOST_TEST((std::chrono::steady_clock::now() - begun < 5s));
  BOOST_TEST(listening.conversation(silent.front()) ==
             "error \"the supervisor speaks with as many clients as it can\"\n");
  // A client that has asked stays, and so does one whose request has arrived but is not read yet.
  std::vector<UniqueFd> crowd;
  for (int i = 0; i < 16; ++i) crowd.push_back(listening.request("1 kill []\n"));
  for (int i = 0; i < 16; ++i) silent.push_back(listening.connect());
  BOOST_TEST(listening.run_until([&] { return listening.asked.size() == 16; }));
  listening.asked[0].reply.ok("7");
  BOOST_TEST(listening.conversation(first) == "ok 7\n");
}

BOOST_AUTO_TEST_CASE(descriptors_sent_along_are_not_received) {
  Listening listening;
  int ends[2];
  check("pipe", pipe(ends));
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const UniqueFd client = listening.connect();
  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.socket->clients() == 1; }));
  const int before = open_descriptors();

  char text[] = "1 kill []\n";
  iovec part{text, sizeof text - 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  *reinterpret_cast<int*>(CMSG_DATA(header)) = writing.get();
  BOOST_TEST(sendmsg(client.get(), &message, 0) == 10);
  writing.reset();

  BOOST_TEST_REQUIRE(listening.run_until([&] { return listening.asked.size() == 1; }));
  BOOST_TEST(open_descriptors() == before - 1);
  char byte;
  BOOST_TEST(read(reading.get(), &byte, 1) == 0);  // no process holds the other end
}

BOOST_AUTO_TEST_CASE(without_descriptors_the_loop_does_not_spin_and_clients_are_served_later) {
  Listening listening;
  BOOST_TEST(listening.answers());
  const UniqueFd client = listening.request("1 at_once []\n");
  rlimit all{};
  getrlimit(RLIMIT_NOFILE, &all);
  rlimit none = all;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  const int turns = listening.turns_within(500ms);
  setrlimit(RLIMIT_NOFILE, &all);
  BOOST_TEST(turns < 20);
  BOOST_TEST(listening.conversation(client) == "ok {\"done\":true}\n");
}
