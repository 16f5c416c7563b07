#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/unique_fd.hpp"

namespace brood {

// The pipe through which spans go to the exporter of a supervisor: a FIFO beside its scoreboard.  Every process opens
// it for both reading and writing, so no writer gets SIGPIPE while the exporter is away.  Records then wait for the
// next exporter.
std::string span_pipe_path(const std::string& runtime_directory, const std::string& identity);

// Makes the pipe with mode 0600, if it is not there.  Throws std::system_error.
void make_span_pipe(const std::string& path);
// Opens the pipe.  Returns an empty descriptor on failure, with the reason in errno.
UniqueFd open_span_pipe(const std::string& path);

// Writes spans without waiting.
class SpanPipe {
 public:
  // `lost` counts lost spans; may be nullptr.
  SpanPipe(std::string path, std::atomic<std::uint64_t>* lost);

  // Writes records of `spans` spans, either all or nothing.
  void write(std::string_view records, std::uint64_t spans);

 private:
  bool is_open();
  bool write_whole(std::string_view records);

  const std::string path_;
  std::atomic<std::uint64_t>* const lost_;
  UniqueFd fd_;
  std::uint64_t device_ = 0, inode_ = 0;
};

}  // namespace brood
