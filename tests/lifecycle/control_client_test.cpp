#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/control/control_path.hpp"
#include "supervisor/control/control_socket.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A supervisor whose answers the test chooses.  It has this process's pid, so the command line takes it for a living
// one.
class FakeSupervisor {
 public:
  FakeSupervisor(const std::string& directory, const std::string& nonce, ControlSocket::Handler handler)
      : identity_("host:" + std::to_string(getpid()) + ":" + nonce),
        scoreboard_(Scoreboard::create(directory, identity_, 1)),
        socket_(loop_, control_socket_path(directory, identity_), std::move(handler)),
        thread_([this] { serve(); }) {}
  ~FakeSupervisor() {
    over_ = true;
    thread_.join();
  }

 private:
  void serve() {
    Timer again(loop_, [] {});
    while (!over_) {
      again.start_in(3ms);
      loop_.run_once();
    }
  }

  std::string identity_;
  Scoreboard scoreboard_;
  EventLoop loop_;
  ControlSocket socket_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

ControlSocket::Handler answers(const std::string& json) {
  return [json](const auto&, const auto&, ControlSocket::Reply reply) { reply.ok(json); };
}

constexpr const char* ended =
    R"({"jid":"abc","class":"Zip\u001b[31m","queue":"default","slot":3,"pid":4711,"age":75.2,"outcome":"retry"})";

CommandResult kill_command(const TemporaryDirectory& runtime, std::vector<std::string> arguments = {"abc"}) {
  arguments.insert(arguments.begin(), "kill");
  return run_brood(arguments, {{"RUNTIME_DIRECTORY", runtime.path()}});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_kill_tells_what_was_ended_and_where_it_goes) {
  const TemporaryDirectory runtime;
  std::vector<std::string> asked;
  const FakeSupervisor supervisor(runtime.path(), "aaaaaaaaaaaa",
                                  [&](const std::string& verb, const auto& arguments, ControlSocket::Reply reply) {
                                    asked = {verb};
                                    asked.insert(asked.end(), arguments.begin(), arguments.end());
                                    reply.progress("it is being\nended");
                                    reply.ok(ended);
                                  });

  const CommandResult text = kill_command(runtime);
  BOOST_TEST(text.status == 0);
  BOOST_TEST(text.output == "ended Zip\\x1b[31m abc of worker 3, pid 4711, after 1m15s: it will be retried\n");
  BOOST_TEST(text.errors == "it is being\\nended\n");
  BOOST_TEST(asked == (std::vector<std::string>{"kill", "abc", "retry"}), boost::test_tools::per_element());

  const CommandResult json = kill_command(runtime, {"abc", "--outcome", "dead", "--json"});
  BOOST_TEST(json.status == 0);
  BOOST_TEST(json.output == std::string(ended) + "\n");
  BOOST_TEST(asked[2] == "dead");
}

BOOST_AUTO_TEST_CASE(every_local_supervisor_is_asked_until_one_has_ended_the_job) {
  const TemporaryDirectory runtime;
  const FakeSupervisor first(runtime.path(), "aaaaaaaaaaaa", answers("null"));
  BOOST_TEST(kill_command(runtime).status == 75);
  BOOST_TEST(kill_command(runtime).errors.starts_with("brood kill: no worker of this machine runs a job abc now; "));
  BOOST_TEST(kill_command(runtime, {"abc", "--json"}).output == "null\n");

  const FakeSupervisor second(runtime.path(), "bbbbbbbbbbbb", answers(ended));
  BOOST_TEST(kill_command(runtime).status == 0);
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_refuses_or_hangs_up_is_named_and_the_others_are_asked) {
  const TemporaryDirectory runtime;
  const FakeSupervisor refuses(runtime.path(), "aaaaaaaaaaaa",
                               [](const auto&, const auto&, ControlSocket::Reply reply) { reply.error("not now"); });
  const CommandResult refused = kill_command(runtime);
  BOOST_TEST(refused.status == 69);
  BOOST_TEST(refused.errors == "brood kill: supervisor " + std::to_string(getpid()) + ": not now\n");

  // A socket on which no process listens.
  const std::string deaf = "host:" + std::to_string(getpid()) + ":bbbbbbbbbbbb";
  const Scoreboard scoreboard = Scoreboard::create(runtime.path(), deaf, 1);
  BOOST_TEST(kill_command(runtime).errors.find("No such file") != std::string::npos);

  const FakeSupervisor last(runtime.path(), "cccccccccccc", answers(ended));
  BOOST_TEST(kill_command(runtime).status == 0);
}

BOOST_AUTO_TEST_CASE(an_answer_in_another_protocol_is_none) {
  const TemporaryDirectory runtime;
  for (const std::string answer : {"{", "[]", "\"text\""}) {
    const FakeSupervisor supervisor(runtime.path(), "aaaaaaaaaaaa" + std::to_string(answer.size()), answers(answer));
    BOOST_TEST(kill_command(runtime).status == 69);
  }
}

BOOST_AUTO_TEST_CASE(dead_supervisors_and_other_files_are_not_asked) {
  const TemporaryDirectory runtime;
  runtime.write("rubbish.scoreboard", "not one");
  const Scoreboard dead = Scoreboard::create(runtime.path(), "host:4194304:aaaaaaaaaaaa", 1);
  const Scoreboard odd = Scoreboard::create(runtime.path(), "nothing of that kind", 1);
  const CommandResult result = kill_command(runtime);
  BOOST_TEST(result.status == 69);
  BOOST_TEST(result.errors.starts_with("brood kill: no supervisor of this user runs on this machine; other machines "),
             result.errors);
  BOOST_TEST(run_brood({"kill", "abc"}, {{"RUNTIME_DIRECTORY", runtime / "missing"}}).status == 69);
}

// A job may do that, since it runs as the same user.
BOOST_AUTO_TEST_CASE(another_process_that_listens_in_the_supervisors_place_is_not_believed) {
  const TemporaryDirectory runtime;
  const std::string identity = "host:" + std::to_string(getpid()) + ":aaaaaaaaaaaa";
  const Scoreboard scoreboard = Scoreboard::create(runtime.path(), identity, 1);
  int ready[2];
  BOOST_REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    EventLoop loop;
    const ControlSocket socket(loop, control_socket_path(runtime.path(), identity), answers(ended));
    Timer again(loop, [] {});
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) {
      again.start_in(100ms);
      loop.run_once();
    }
  }
  char byte = 0;
  BOOST_REQUIRE(read(ready[0], &byte, 1) == 1);

  const CommandResult result = kill_command(runtime);

  BOOST_TEST(result.status == 69);
  BOOST_TEST(result.errors.find("process " + std::to_string(child) + " listens at ") != std::string::npos,
             result.errors);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// With a forged scoreboard and a link, a job could redirect root's order to another user's supervisor.
BOOST_AUTO_TEST_CASE(a_supervisor_of_another_user_than_its_scoreboard_is_not_asked) {
  if (geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can give a file to another user");
    return;
  }
  const TemporaryDirectory runtime;
  const FakeSupervisor supervisor(runtime.path(), "aaaaaaaaaaaa", answers(ended));
  const std::string file = scoreboard_path(runtime.path(), "host:" + std::to_string(getpid()) + ":aaaaaaaaaaaa");
  BOOST_REQUIRE(chown(file.c_str(), 65534, 65534) == 0);

  const CommandResult result = kill_command(runtime);

  BOOST_TEST(result.status == 69);
  BOOST_TEST(result.errors.find("of another user") != std::string::npos, result.errors);
}
