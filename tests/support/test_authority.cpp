#include "tests/support/test_authority.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace brood {
namespace {

constexpr const char* new_key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

std::string asn1_time(int days_from_now) {
  const auto time = std::chrono::system_clock::now() + std::chrono::hours(24 * days_from_now);
  return fmt::format("{:%Y%m%d%H%M%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name) {
  directory_.write("index", "");
  directory_.write("config", fmt::format("[ca]\ndefault_ca = ours\n[ours]\ndatabase = {0}/index\nnew_certs_dir = {0}\n"
                                         "rand_serial = yes\ndefault_md = sha256\npolicy = any\nunique_subject = no\n"
                                         "copy_extensions = copy\n[any]\ncommonName = supplied\n",
                                         directory_.path()));
  openssl(fmt::format("req -x509 {} -keyout ca.key -out ca.pem -days 30 -subj '/CN={}'", new_key, name));
}

RedisServer::TlsFiles TestAuthority::issue(const Wish& wish) const {
  const std::string name = std::to_string(++issued_);
  openssl(fmt::format("req -new {} -keyout {}.key -out {}.csr -subj '/CN=test {}' -addext 'subjectAltName={}'", new_key,
                      name, name, name, wish.names));
  openssl(
      fmt::format("ca -batch -notext -config config -cert ca.pem -keyfile ca.key -in {}.csr -out {}.pem "
                  "-startdate {} -enddate {}",
                  name, name, asn1_time(wish.valid_from), asn1_time(wish.valid_to)));
  return {.cert = directory_ / (name + ".pem"), .key = directory_ / (name + ".key"), .ca = ca()};
}

std::string TestAuthority::fingerprint_of(const RedisServer::TlsFiles& files) const {
  openssl(fmt::format("x509 -noout -fingerprint -sha256 -in {}", files.cert));
  std::string line;
  std::ifstream said(directory_ / "said");
  std::getline(said, line);
  return line.substr(line.find('=') + 1);
}

void TestAuthority::openssl(const std::string& words) const {
  const std::string command = fmt::format("cd {} && openssl {} >said 2>&1", directory_.path(), words);
  if (std::system(command.c_str()) == 0) return;
  std::ifstream said(directory_ / "said");
  throw std::runtime_error(command + ": " + std::string{std::istreambuf_iterator<char>(said), {}});
}

}  // namespace brood
