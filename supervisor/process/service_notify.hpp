#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace brood {

// What systemd is told, by datagrams to $NOTIFY_SOCKET (sd_notify(3)).  Without that variable nothing is sent.
class ServiceNotify {
 public:
  // Takes what systemd said out of the environment: see Successor, which hands it on.
  ServiceNotify();

  void ready();
  void reloading();  // until ready() is called again
  void stopping();
  void repeat();  // every second: a ready() that could not be sent, for systemd would wait for it
  void extend_start(std::chrono::seconds by);  // it takes longer than the unit allows
  void status(const std::string& line);        // sent when it differs from the last one
  void watchdog();

  bool listening() const { return !socket_.empty(); }
  // How often watchdog() is to be called: half of $WATCHDOG_USEC; nullopt when systemd does not watch this process.
  std::optional<std::chrono::nanoseconds> watchdog_interval() const { return watchdog_interval_; }

 private:
  bool send(const std::string& state) const;

  std::string socket_;
  bool owes_ready_ = false;
  std::string last_status_;
  std::optional<std::chrono::nanoseconds> watchdog_interval_;
};

}  // namespace brood
