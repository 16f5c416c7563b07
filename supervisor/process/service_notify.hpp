#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace brood {

// Reports to systemd by datagrams to $NOTIFY_SOCKET (sd_notify(3)).  Without that variable it sends nothing.
class ServiceNotify {
 public:
  // Removes systemd's variables from the environment: see Successor, which passes them on.
  ServiceNotify();

  void ready();
  void reloading();  // until ready() is called again
  void stopping();
  void repeat();  // every second: sends a ready() that could not be sent, since systemd waits for it
  void extend_start(std::chrono::seconds by);  // the start takes longer than the unit allows
  void status(const std::string& line);        // sent when it differs from the last one
  void watchdog();

  bool listening() const { return !socket_.empty(); }
  // How often to call watchdog(): half of $WATCHDOG_USEC; nullopt if systemd does not watch this process.
  std::optional<std::chrono::nanoseconds> watchdog_interval() const { return watchdog_interval_; }

 private:
  bool send(const std::string& state) const;

  std::string socket_;
  bool owes_ready_ = false;
  std::string last_status_;
  std::optional<std::chrono::nanoseconds> watchdog_interval_;
};

}  // namespace brood
