#include "supervisor/workers/template/template_wire.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace brood {
namespace {

constexpr std::size_t descriptors_of_a_worker = 2;
constexpr std::size_t descriptor_bytes = descriptors_of_a_worker * sizeof(int);

union DescriptorSpace {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(descriptor_bytes)];
};

}  // namespace

bool send_request(int line, const ForkRequest& request, const WorkerDescriptors& descriptors) {
  iovec part{.iov_base = const_cast<ForkRequest*>(&request), .iov_len = sizeof request};
  DescriptorSpace space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.bytes;
  message.msg_controllen = sizeof space.bytes;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptor_bytes);
  const int both[descriptors_of_a_worker] = {descriptors.control, descriptors.output};
  std::memcpy(CMSG_DATA(header), both, descriptor_bytes);
  return sendmsg(line, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof request);
}

std::optional<ReceivedRequest> receive_request(int line) {
  ReceivedRequest received;
  iovec part{.iov_base = &received.request, .iov_len = sizeof received.request};
  DescriptorSpace space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.bytes;
  message.msg_controllen = sizeof space.bytes;
  ssize_t got = 0;
  do got = recvmsg(line, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (got != static_cast<ssize_t>(sizeof received.request) || header == nullptr ||
      header->cmsg_len != CMSG_LEN(descriptor_bytes) || received.request.protocol != ForkRequest::current_protocol)
    return std::nullopt;
  int both[descriptors_of_a_worker];
  std::memcpy(both, CMSG_DATA(header), descriptor_bytes);
  received.descriptors = {both[0], both[1]};
  received.request.output_token.back() = '\0';
  return received;
}

}  // namespace brood
