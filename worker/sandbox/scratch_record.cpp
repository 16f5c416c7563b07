#include "worker/sandbox/scratch_record.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/host_memory.hpp"

namespace brood {
namespace {

std::vector<MemoryMapping> writable_scoreboards() {
  std::vector<MemoryMapping> all = memory_mappings();
  std::erase_if(all, [](const MemoryMapping& one) {
    return !one.is_writable || !one.is_shared || one.path.find(".scoreboard") == std::string::npos;
  });
  return all;
}

void map_at(char* at, std::size_t size, int rights, int sharing, int fd, off_t offset) {
  if (mmap(at, size, rights, sharing | MAP_FIXED, fd, offset) == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "mmap of the scoreboard");
}

// Whether `file` is the file of `mapping`.  Both are read from the kernel in the same way: on btrfs fstat() gives
// another device than /proc/self/maps.
bool is_file_of(const MemoryMapping& mapping, int file) {
  void* const trial = mmap(nullptr, 1, PROT_READ, MAP_SHARED, file, 0);
  if (trial == MAP_FAILED) return false;
  const std::vector<MemoryMapping> all = memory_mappings();
  const bool is_same = std::any_of(all.begin(), all.end(), [&](const MemoryMapping& one) {
    return one.contains(trial) && one.device == mapping.device && one.inode == mapping.inode;
  });
  munmap(trial, 1);
  return is_same;
}

// Opens the file of a mapping for reading: a mapping of such a descriptor can never be made writable.
UniqueFd open_for_reading(const MemoryMapping& mapping) {
  UniqueFd file(::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file && !is_file_of(mapping, file.get())) file.reset();
  return file;
}

// For a mapping whose file is gone: puts a private copy of the content in its place.
void freeze(const MemoryMapping& mapping) {
  const std::string content(mapping.begin, mapping.size);
  map_at(mapping.begin, mapping.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(mapping.begin, content.data(), content.size());
}

class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

ScratchRecord::ScratchRecord(SlotRecord& record) : record_(record) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(&record) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(&record) + sizeof record + page - 1) / page * page;
  begin_ = reinterpret_cast<char*>(first);
  size_ = end - first;
  file_.reset(check("memfd_create", memfd_create("brood-scratch-record", MFD_CLOEXEC)));
  check("ftruncate", ftruncate(file_.get(), static_cast<off_t>(size_)));
  void* const memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of the scratch record");
  copy_ = static_cast<char*>(memory);
}

ScratchRecord::~ScratchRecord() { munmap(copy_, size_); }

const SlotRecord* ScratchRecord::replace_scoreboard() {
  const SignalsHeld no_handler_writes_meanwhile;
  const std::size_t at = static_cast<std::size_t>(reinterpret_cast<char*>(&record_) - begin_);
  // Copies the record alone: its last page may reach beyond the end of the file.
  std::memset(copy_, 0, size_);
  std::memcpy(copy_ + at, static_cast<void*>(&record_), sizeof record_);
  const SlotRecord* original = nullptr;
  for (const MemoryMapping& mapping : writable_scoreboards()) {
    const UniqueFd file = open_for_reading(mapping);
    if (!file) {
      freeze(mapping);
      continue;
    }
    map_at(mapping.begin, mapping.size, PROT_READ, MAP_SHARED, file.get(), mapping.offset);
    if (begin_ < mapping.begin || begin_ >= mapping.begin + mapping.size) continue;
    void* const again =
        mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), mapping.offset + (begin_ - mapping.begin));
    if (again != MAP_FAILED) original = reinterpret_cast<const SlotRecord*>(static_cast<char*>(again) + at);
  }
  map_at(begin_, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  return original;
}

void ScratchRecord::take_crash() const {
  const auto& copy = *reinterpret_cast<const SlotRecord*>(copy_ + (reinterpret_cast<char*>(&record_) - begin_));
  std::memcpy(static_cast<void*>(&record_.crash), static_cast<const void*>(&copy.crash), sizeof record_.crash);
}

}  // namespace brood
