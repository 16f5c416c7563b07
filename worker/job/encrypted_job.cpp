#include "worker/job/encrypted_job.hpp"

#include <sys/resource.h>

#include "shared/encryption/last_argument.hpp"

namespace brood {
namespace {

// Sets a limit of one byte: with it the kernel writes no core file, and does not start a program of core_pattern
// either.
void leave_no_core_file() {
  constexpr rlimit none{1, 1};
  setrlimit(RLIMIT_CORE, &none);
}

}  // namespace

std::optional<Failure> open_arguments(Payload& job, const KeyRing& keys, const EncryptionSettings& settings) {
  if (!settings.core_files) leave_no_core_file();
  try {
    job.open(arguments_in_clear(job, keys));
    return std::nullopt;
  } catch (const DecryptionError& error) {
    Failure failure;
    failure.error_class = "DecryptionError";
    failure.message = std::string("the last argument cannot be decrypted: ") + error.what();
    return failure;
  }
}

Failure not_encrypted(const Payload& job) {
  Failure failure;
  failure.error_class = "NotEncrypted";
  failure.message = job.code_class() +
                    " encrypts its last argument, and this job was pushed in clear: push it by a C++ client, by `brood "
                    "enqueue`, or in Ruby with encrypt: true.  [encryption] require = false performs such jobs";
  return failure;
}

std::string shown_message(const Payload& job, std::string_view error_class, std::string message) {
  if (!job.is_open() || error_class != "ArgumentError") return message;
  return job.display_class() + ": its arguments do not fit; one of them is encrypted, and none is shown";
}

}  // namespace brood
