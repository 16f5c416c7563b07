#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace brood {

// The messages between a supervisor and its templates, each one message of a seqpacket socket.

// The descriptors for the new worker.
struct WorkerDescriptors {
  int control = -1, output = -1;
};

struct ForkRequest {
  static constexpr std::uint32_t current_protocol = 1;  // the supervisor may be of another version
  std::uint32_t protocol = current_protocol;
  std::int32_t slot = 0, capsule = 0, number = 0;
  std::array<char, 64> output_token = {};  // ends with a zero
};

struct ForkAnswer {
  std::int32_t slot = 0;
  pid_t pid = -1;          // of the copy; -1 if there is none
  std::int32_t error = 0;  // errno, if there is no copy
};

// The template's first message, sent once it has loaded: one of these characters, and then text.
enum class TemplateIs : char {
  ready = 'R',
  for_nothing = 'N',
  failed = 'F',  // then a sentence: the libraries could not be loaded now
  unfit = 'U',   // then half a sentence: copies would share what each needs for itself
};

// Returns false if it cannot be sent now, or the other end is gone.
bool send_request(int line, const ForkRequest& request, const WorkerDescriptors& descriptors);
struct ReceivedRequest {
  ForkRequest request;
  WorkerDescriptors descriptors;  // the receiver must close them
};
// Waits.  Returns nullopt if the supervisor is gone or wants no more workers.
std::optional<ReceivedRequest> receive_request(int line);

}  // namespace brood
