#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace brood {

// What a supervisor and its templates say to each other, by one message of a seqpacket socket each.

// Of the worker, at its birth.
struct WorkerDescriptors {
  int control = -1, output = -1;
};

struct ForkRequest {
  static constexpr std::uint32_t current_protocol = 1;  // another version's supervisor may ask
  std::uint32_t protocol = current_protocol;
  std::int32_t slot = 0, capsule = 0, number = 0;
  std::array<char, 64> output_token = {};  // up to a zero
};

struct ForkAnswer {
  std::int32_t slot = 0;
  pid_t pid = -1;          // of the copy; -1: there is none
  std::int32_t error = 0;  // then errno
};

// Its first message, when it has loaded what it is for: one character, and then text.
enum class TemplateIs : char {
  ready = 'R',
  for_nothing = 'N',
  failed = 'F',  // and why, in a sentence: it could not load them now
  unfit = 'U',   // and why, half a sentence: its copies would share what each is to have for itself
};

// False when it cannot be sent now, or the other end is gone.
bool send_request(int line, const ForkRequest& request, const WorkerDescriptors& descriptors);
struct ReceivedRequest {
  ForkRequest request;
  WorkerDescriptors descriptors;  // the receiver's to close
};
// Waits.  nullopt: the supervisor is gone, or has no more wishes.
std::optional<ReceivedRequest> receive_request(int line);

}  // namespace brood
