#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "shared/periodic/zone_file.hpp"

namespace brood {

// A time zone by its name in the machine's data (/usr/share/zoneinfo): "Europe/Berlin".  "UTC" needs none.  Its
// data are read when it is asked for, and are kept as long as the process lives.
class Zone {
 public:
  Zone() = default;  // UTC

  // nullopt: the machine knows no such zone, or has no such data.
  static std::optional<Zone> find(std::string_view name);
  // One that is always so far ahead of UTC.
  static Zone fixed(std::string_view name, std::chrono::seconds ahead);
  // The known name that is most like it; nullopt: none is.
  static std::optional<std::string> like(const std::string& name);

  const std::string& name() const { return name_; }

  using Span = ZoneFile::Span;
  Span around(std::chrono::sys_seconds moment) const;

 private:
  std::string name_ = "UTC";
  const ZoneFile* file_ = nullptr;  // null: UTC, or a fixed distance from it
  std::chrono::seconds ahead_{0};
};

}  // namespace brood
