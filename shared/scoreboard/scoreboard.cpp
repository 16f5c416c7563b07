#include "shared/scoreboard/scoreboard.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/mapped_file.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {
namespace {

constexpr std::uint64_t magic = 0x64726f62'64726f6f;
constexpr std::uint32_t version = 14;
constexpr int max_slots = 65'536;

constexpr std::size_t aligned(std::size_t size) {
  return (size + alignof(SlotRecord) - 1) / alignof(SlotRecord) * alignof(SlotRecord);
}
// The records come last, so that their number can grow.
constexpr std::size_t usage_offset() { return aligned(sizeof(Scoreboard::Header)); }
constexpr std::size_t records_offset() { return usage_offset() + aligned(sizeof(UsageTable)); }
constexpr std::size_t file_size(int slots) {
  return records_offset() + static_cast<std::size_t>(slots) * sizeof(SlotRecord);
}
// The size of the header in this version.
static_assert(usage_offset() == 12'608, "another size is another version");
static_assert(alignof(UsageTable) <= alignof(SlotRecord));

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would lie in another process's memory");

}  // namespace

std::string scoreboard_path(const std::string& directory, const std::string& identity) {
  std::string name = identity;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '/'; }, '_');
  return directory + "/" + name + ".scoreboard";
}

Scoreboard Scoreboard::map(int fd, int slots, bool writable, const std::string& path) {
  Scoreboard board;
  board.mapping_.size = file_size(slots);
  board.slots_ = slots;
  const int sharing = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void*& memory = board.mapping_.memory;
  memory = mmap(nullptr, board.mapping_.size, writable ? PROT_READ | PROT_WRITE : PROT_READ, sharing, fd, 0);
  if (memory == MAP_FAILED) {
    memory = nullptr;
    throw std::system_error(errno, std::generic_category(), "mmap of the scoreboard");
  }
  if (fd >= 0) note_mapped_file(memory, board.mapping_.size, fd, path, writable);
  return board;
}

Scoreboard Scoreboard::create(const std::string& directory, const std::string& identity, int slots) {
  const std::string path = scoreboard_path(directory, identity);
  if (slots < 1 || slots > max_slots) throw std::invalid_argument("a scoreboard cannot have that many slots");
  if (identity.size() >= sizeof(Header::identity)) throw std::invalid_argument("the identity is too long: " + identity);
  const UniqueFd file(
      check("open of the scoreboard", ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)));
  try {
    // Allocate every page now: on a full tmpfs the first write to a page raises SIGBUS.
    const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(file_size(slots)));
    if (error != 0) throw std::system_error(error, std::generic_category(), "posix_fallocate of the scoreboard");
    Scoreboard board = map(file.get(), slots, true, path);
    board.identity_ = identity;
    board.path_ = path;
    board.write_header();
    return board;
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
}

Scoreboard Scoreboard::open(const std::string& path, bool writable) {
  const UniqueFd file(check("open of the scoreboard", ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC |
                                                                               O_NOFOLLOW | O_NONBLOCK)));
  struct stat status {};
  check("fstat of the scoreboard", fstat(file.get(), &status));
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::size_t slots = size > file_size(0) ? (size - file_size(0)) / sizeof(SlotRecord) : 0;
  if (!S_ISREG(status.st_mode) || slots < 1 || slots > max_slots || file_size(static_cast<int>(slots)) != size) {
    throw std::runtime_error(path + " is no scoreboard of this version");
  }
  Scoreboard board = map(file.get(), static_cast<int>(slots), writable, path);
  const Header& header = board.header();
  const std::size_t identity_length = strnlen(header.identity, sizeof header.identity);
  // The header of a scoreboard that grows gets its new count of slots last.
  if (header.magic != magic || header.version != version || header.record_size != sizeof(SlotRecord) ||
      header.slots > slots || identity_length == sizeof header.identity) {
    throw std::runtime_error(path + " is no scoreboard of this version");
  }
  board.identity_.assign(header.identity, identity_length);
  board.instance_.assign(header.instance, strnlen(header.instance, sizeof header.instance));
  board.path_ = path;
  return board;
}

void Scoreboard::name_instance(const std::string& instance) {
  if (instance.size() >= sizeof(Header::instance)) throw std::invalid_argument("the instance's name is too long");
  instance_ = instance;
  write_header();
}

Scoreboard Scoreboard::in_memory(int slots) { return map(-1, slots, true, {}); }

Scoreboard::Scoreboard(Scoreboard&& other) noexcept
    : path_(std::move(other.path_)),
      mapping_(std::exchange(other.mapping_, {})),
      outgrown_(std::exchange(other.outgrown_, {})),
      slots_(std::exchange(other.slots_, 0)),
      identity_(std::move(other.identity_)),
      instance_(std::move(other.instance_)) {}

Scoreboard& Scoreboard::operator=(Scoreboard&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(mapping_, other.mapping_);
  std::swap(outgrown_, other.outgrown_);
  std::swap(slots_, other.slots_);
  std::swap(identity_, other.identity_);
  std::swap(instance_, other.instance_);
  return *this;
}

Scoreboard::~Scoreboard() {
  outgrown_.push_back(mapping_);
  for (const Mapping& mapping : outgrown_) {
    if (!mapping.memory) continue;
    forget_mapped_file(mapping.memory);
    munmap(mapping.memory, mapping.size);
  }
}

void Scoreboard::grow(int slots) {
  if (slots <= slots_) return;
  if (slots > max_slots) throw std::system_error(ENOMEM, std::generic_category(), "more slots for the scoreboard");
  // Without O_NONBLOCK a lease that a job has taken on the file would hold this up for 45 seconds.
  const UniqueFd file(
      check("open of the scoreboard", ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)));
  const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(file_size(slots)));
  if (error != 0) {
    [[maybe_unused]] const int restored = ftruncate(file.get(), static_cast<off_t>(mapping_.size));
    throw std::system_error(error, std::generic_category(), "posix_fallocate of the scoreboard");
  }
  Scoreboard larger = map(file.get(), slots, true, path_);
  outgrown_.push_back(mapping_);
  mapping_ = std::exchange(larger.mapping_, {});
  slots_ = slots;
  header().slots = static_cast<std::uint32_t>(slots);
}

void Scoreboard::write_header() {
  Header& header = this->header();
  header.version = version;
  header.record_size = sizeof(SlotRecord);
  header.slots = static_cast<std::uint32_t>(slots_);
  std::memset(header.identity, 0, sizeof header.identity);
  identity_.copy(header.identity, sizeof header.identity - 1);
  std::memset(header.instance, 0, sizeof header.instance);
  instance_.copy(header.instance, sizeof header.instance - 1);
  header.magic = magic;
}

bool Scoreboard::mend() {
  if (path_.empty()) return false;
  struct stat status {};
  const bool cut = ::stat(path_.c_str(), &status) == 0 && static_cast<std::size_t>(status.st_size) < mapping_.size;
  // Touching a part that was cut off brings all of it back (see mapped_file.hpp); this touches the last byte of the
  // records.
  if (cut) [[maybe_unused]]
    const char back = static_cast<volatile char*>(mapping_.memory)[mapping_.size - 1];
  const Header& header = this->header();
  const auto reads = [](const char* text, std::size_t size, const std::string& meant) {
    return std::string_view(text, strnlen(text, size)) == meant;
  };
  const bool whole = header.magic == magic && header.version == version && header.record_size == sizeof(SlotRecord) &&
                     header.slots == static_cast<std::uint32_t>(slots_) &&
                     reads(header.identity, sizeof header.identity, identity_) &&
                     reads(header.instance, sizeof header.instance, instance_);
  if (!whole) write_header();
  return cut || !whole;
}

Scoreboard::Header& Scoreboard::header() const { return *static_cast<Header*>(mapping_.memory); }
int Scoreboard::slots() const { return slots_; }
std::string Scoreboard::identity() const { return identity_; }

// Counts the lapse first, so that a reader that sees the new beat sees the lapse, too.
void Scoreboard::note_beat(BootTime sent, int shard) {
  ShardBeat& beat = this->beat(shard);
  if (is_old(beat.last_beat, sent)) ++beat.lapses;
  beat.last_beat.store(sent.time_since_epoch().count());
}

// If the supervisor is killed meanwhile, one token is there twice, and only the oldest is lost.
void Scoreboard::note_beat_token(std::uint64_t token, int shard) {
  auto& tokens = beat(shard).beat_tokens;
  for (std::size_t i = tokens.size() - 1; i > 0; --i) tokens[i] = tokens[i - 1].load();
  tokens[0] = token;
}

std::vector<std::uint64_t> Scoreboard::beat_tokens() const {
  std::vector<std::uint64_t> known;
  for (const ShardBeat& beat : header().beats) {
    for (const std::atomic<std::uint64_t>& token : beat.beat_tokens) {
      if (token != 0) known.push_back(token);
    }
  }
  return known;
}

std::atomic<std::uint32_t>& Scoreboard::queue_changes() { return header().queue_changes; }

void Scoreboard::note_redis_moved(int shard) {
  ++beat(shard).redis_moves;
  ++header().all_redis_moves;
}

SlotRecord& Scoreboard::slot(int i) {
  if (i < 0 || i >= slots_) throw std::out_of_range("slot " + std::to_string(i) + " of the scoreboard");
  return reinterpret_cast<SlotRecord*>(static_cast<char*>(mapping_.memory) + records_offset())[i];
}

const SlotRecord& Scoreboard::slot(int i) const { return const_cast<Scoreboard*>(this)->slot(i); }

UsageTable& Scoreboard::usage() {
  return *reinterpret_cast<UsageTable*>(static_cast<char*>(mapping_.memory) + usage_offset());
}

const UsageTable& Scoreboard::usage() const { return const_cast<Scoreboard*>(this)->usage(); }

void Scoreboard::remove_file() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace brood
