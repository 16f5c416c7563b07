#include "supervisor/upgrade/handover_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <system_error>

#include "shared/base/check.hpp"

namespace brood {
namespace {

constexpr off_t largest = 64 << 20;
constexpr char signature = '\n';  // behind the text

}  // namespace

std::vector<int> descriptors_of(const Handover& handover) {
  std::vector<int> all{handover.control_listener, handover.log};
  for (const Handover::Worker& worker : handover.workers) {
    all.push_back(worker.control);
    all.push_back(worker.output);
  }
  for (const Handover::Template& one : handover.templates) all.push_back(one.line);
  for (const Handover::Generation& generation : handover.generations) {
    for (const HeldFiles::Entry& file : generation.held) all.push_back(file.descriptor);
  }
  if (handover.page) all.push_back(handover.page->descriptor);
  std::erase_if(all, [](int descriptor) { return descriptor <= STDERR_FILENO; });
  return all;
}

UniqueFd own_descriptor(int left) {
  if (left < 0) return {};
  return UniqueFd(check("fcntl", fcntl(left, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)));
}

UniqueFd write_handover(const Handover& handover) {
  const std::string json = to_json(handover);
  if (json.size() >= static_cast<std::size_t>(largest))
    throw std::system_error(
        std::make_error_code(std::errc::file_too_large),
        fmt::format("the handover has {} MB, and a new program reads less than {}", json.size() >> 20, largest >> 20));
  UniqueFd file(check("memfd_create", memfd_create("brood-handover", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  for (std::size_t written = 0; written < json.size();)
    written +=
        static_cast<std::size_t>(check("write", ::write(file.get(), json.data() + written, json.size() - written)));
  // Sealed, so that the new program cannot change it: the previous one may still need it.
  if (!handover.rehearsal)
    check("fcntl", fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL));
  return file;
}

void sign_rehearsal(int descriptor) {
  struct stat about {};
  check("fstat of the handover", fstat(descriptor, &about));
  check("signature of the handover", pwrite(descriptor, &signature, 1, about.st_size));
}

bool is_signed(int descriptor) {
  struct stat about {};
  char last = '\0';
  return fstat(descriptor, &about) == 0 && about.st_size > 0 && pread(descriptor, &last, 1, about.st_size - 1) == 1 &&
         last == signature;
}

Handover read_handover(int descriptor) {
  struct stat about {};
  if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > largest)
    throw BadHandover(fmt::format("descriptor {} holds no handover", descriptor));
  std::string json(static_cast<std::size_t>(about.st_size), '\0');
  for (std::size_t got = 0; got < json.size();) {
    const ssize_t count = pread(descriptor, json.data() + got, json.size() - got, static_cast<off_t>(got));
    if (count <= 0) throw BadHandover(fmt::format("descriptor {} cannot be read", descriptor));
    got += static_cast<std::size_t>(count);
  }
  return parse_handover(json);
}

}  // namespace brood
