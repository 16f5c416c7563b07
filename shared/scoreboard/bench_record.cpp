#include "shared/scoreboard/bench_record.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {
namespace {

constexpr std::uint64_t record_magic = 0x64726f6365724242;  // "BBrecord"
constexpr std::size_t most_workers = 16'384;                // a page exists only once it is written to

}  // namespace

struct BenchRecord::Layout {
  std::uint64_t magic;
  std::uint64_t trace_capacity;
  alignas(64) std::atomic<std::uint64_t> workers_taken;
  alignas(64) std::atomic<std::uint64_t> traces_begun;
  std::array<Worker, most_workers> workers;
};

BenchRecord BenchRecord::create(const std::string& path, std::size_t traces) {
  const UniqueFd fd(check("open", ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)));
  const std::size_t size = sizeof(Layout) + traces * sizeof(Trace);
  check("ftruncate", ftruncate(fd.get(), static_cast<off_t>(size)));
  BenchRecord record = map(fd.get(), size);
  record.layout_->magic = record_magic;
  record.layout_->trace_capacity = traces;
  return record;
}

BenchRecord BenchRecord::open(const std::string& path) {
  const UniqueFd fd(check("open", ::open(path.c_str(), O_RDWR | O_CLOEXEC)));
  struct stat about {};
  check("fstat", fstat(fd.get(), &about));
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size < sizeof(Layout)) throw std::runtime_error(path + " is no record of a benchmark");
  BenchRecord record = map(fd.get(), size);
  const Layout& layout = *record.layout_;
  if (layout.magic != record_magic || layout.trace_capacity != (size - sizeof(Layout)) / sizeof(Trace))
    throw std::runtime_error(path + " is no record of a benchmark");
  return record;
}

BenchRecord BenchRecord::map(int fd, std::size_t size) {
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) check("mmap", -1);
  return {static_cast<Layout*>(memory), size};
}

BenchRecord::BenchRecord(BenchRecord&& other) noexcept
    : layout_(std::exchange(other.layout_, nullptr)), size_(other.size_) {}

BenchRecord::~BenchRecord() {
  if (layout_ != nullptr) munmap(layout_, size_);
}

BenchRecord::Worker& BenchRecord::take_worker() {
  const std::uint64_t place = layout_->workers_taken.fetch_add(1);
  if (place >= most_workers) throw std::runtime_error("the benchmark's record has no place for another worker");
  return layout_->workers[place];
}

BenchRecord::Trace* BenchRecord::first_trace() const { return reinterpret_cast<Trace*>(layout_ + 1); }

BenchRecord::Trace* BenchRecord::begin_trace(const Worker& worker, std::int64_t mark, std::int64_t started) {
  const std::uint64_t place = layout_->traces_begun.fetch_add(1, std::memory_order_relaxed);
  if (place >= layout_->trace_capacity) return nullptr;
  Trace& trace = first_trace()[place];
  trace.mark = mark;
  trace.started = started;
  trace.worker = &worker - layout_->workers.data();
  return &trace;
}

BenchRecord::Sum BenchRecord::sum() const {
  Sum sum;
  const std::size_t taken = std::min<std::size_t>(layout_->workers_taken.load(), most_workers);
  for (std::size_t i = 0; i < taken; ++i) {
    const Worker& worker = layout_->workers[i];
    const std::int64_t start = worker.first_start.load();
    if (start == 0) continue;
    sum.performed += worker.performed.load();
    sum.first_start = sum.first_start == 0 ? start : std::min(sum.first_start, start);
    sum.last_end = std::max(sum.last_end, worker.last_end.load());
  }
  return sum;
}

std::size_t BenchRecord::traces_begun() const {
  return std::min<std::size_t>(layout_->traces_begun.load(), layout_->trace_capacity);
}

std::vector<const BenchRecord::Trace*> BenchRecord::traces() const {
  std::vector<const Trace*> ended;
  for (std::size_t i = 0; i < traces_begun(); ++i) {
    const Trace& trace = first_trace()[i];
    if (trace.ended.load(std::memory_order_acquire) != 0) ended.push_back(&trace);
  }
  return ended;
}

void BenchRecord::reset() {
  for (std::size_t i = 0; i < traces_begun(); ++i) first_trace()[i].ended.store(0);
  layout_->traces_begun.store(0);
  for (std::size_t i = 0; i < std::min<std::size_t>(layout_->workers_taken.load(), most_workers); ++i) {
    layout_->workers[i].performed.store(0);
    layout_->workers[i].first_start.store(0);
    layout_->workers[i].last_end.store(0);
  }
}

}  // namespace brood
