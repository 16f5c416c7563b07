#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace brood {

// The notes of a benchmark's jobs, in a file that the workers and the measuring process share by mmap.  To note a job
// takes no system call and no lock.  Times are nanoseconds of CLOCK_MONOTONIC.
class BenchRecord {
 public:
  // The counts of one worker process, written by it alone.
  struct alignas(64) Worker {
    std::atomic<std::uint64_t> performed;
    std::atomic<std::int64_t> first_start, last_end;
  };
  // The times of one job that leaves a trace.
  struct Trace {
    std::int64_t mark;  // the job's own first argument: its number, or when it was pushed or due
    std::int64_t started;
    std::atomic<std::int64_t> ended;  // written last; 0: it still runs
    std::int64_t worker;
  };

  // The notes of all workers together.
  struct Sum {
    std::uint64_t performed = 0;
    std::int64_t first_start = 0, last_end = 0;  // 0: no job
  };

  // Makes the file, with room for `traces`.  Throws std::system_error.
  static BenchRecord create(const std::string& path, std::size_t traces);
  // Maps a file that another process made.  Throws std::system_error, or std::runtime_error if it is no such file.
  static BenchRecord open(const std::string& path);
  BenchRecord(BenchRecord&& other) noexcept;
  BenchRecord& operator=(BenchRecord&&) = delete;
  ~BenchRecord();

  // In a worker: its own place, taken once in its life.  Throws std::runtime_error when there is none left.
  Worker& take_worker();
  // The next trace, its mark and start noted; nullptr when there is no room.
  Trace* begin_trace(const Worker& worker, std::int64_t mark, std::int64_t started);

  // In the measuring program.  The traces are those that ended, in the order in which they began.
  Sum sum() const;
  std::size_t traces_begun() const;
  std::vector<const Trace*> traces() const;
  // Forgets all figures, while no job runs.
  void reset();

 private:
  struct Layout;
  BenchRecord(Layout* layout, std::size_t size) : layout_(layout), size_(size) {}
  static BenchRecord map(int fd, std::size_t size);
  Trace* first_trace() const;

  Layout* layout_;
  std::size_t size_;
};

}  // namespace brood
