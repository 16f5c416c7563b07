#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "shared/base/unique_fd.hpp"
#include "supervisor/workers/template/template_wire.hpp"

using namespace brood;

namespace {

struct Line {
  UniqueFd supervisor, its_template;
  Line() {
    int ends[2];
    BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    supervisor = UniqueFd(ends[0]);
    its_template = UniqueFd(ends[1]);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_request_arrives_with_copies_of_its_descriptors) {
  Line line;
  int ends[2];
  BOOST_REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  ForkRequest request{.slot = 3, .capsule = 1, .number = 2};
  std::string("0a1b").copy(request.output_token.data(), 4);
  BOOST_TEST(send_request(line.supervisor.get(), request, {.control = read_end.get(), .output = write_end.get()}));

  const auto received = receive_request(line.its_template.get());
  BOOST_REQUIRE(received.has_value());
  const UniqueFd control(received->descriptors.control), output(received->descriptors.output);
  BOOST_TEST(received->request.slot == 3);
  BOOST_TEST(received->request.capsule == 1);
  BOOST_TEST(received->request.number == 2);
  BOOST_TEST(std::string(received->request.output_token.data()) == "0a1b");
  BOOST_TEST(control.get() != read_end.get());
  BOOST_TEST(write(output.get(), "x", 1) == 1);
  char byte = 0;
  BOOST_TEST(read(control.get(), &byte, 1) == 1);
  BOOST_TEST(byte == 'x');
  BOOST_TEST((fcntl(control.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

BOOST_AUTO_TEST_CASE(what_is_no_request_of_this_protocol_is_none) {
  Line line;
  BOOST_TEST(send(line.supervisor.get(), "x", 1, 0) == 1);
  BOOST_TEST(!receive_request(line.its_template.get()).has_value());

  ForkRequest other;
  other.protocol = ForkRequest::current_protocol + 1;
  BOOST_TEST(send_request(line.supervisor.get(), other, {.control = 0, .output = 0}));
  BOOST_TEST(!receive_request(line.its_template.get()).has_value());
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_is_gone_has_no_wishes) {
  Line line;
  line.supervisor.reset();
  BOOST_TEST(!receive_request(line.its_template.get()).has_value());
}

BOOST_AUTO_TEST_CASE(a_template_that_is_gone_cannot_be_asked) {
  Line line;
  line.its_template.reset();
  BOOST_TEST(!send_request(line.supervisor.get(), {}, {.control = 0, .output = 0}));
}
