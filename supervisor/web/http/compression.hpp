#pragma once

#include <string_view>

#include "supervisor/web/http/http_message.hpp"

namespace brood {

// Whether a client with this Accept-Encoding (RFC 9110, 12.5.3) accepts gzip.
bool takes_gzip(std::string_view accept_encoding);

// Compresses the answer by gzip if it is text, becomes shorter, and the client accepts it.
//
// Never compresses an answer that another site may have requested: from its length an eavesdropper on an encrypted line
// learns whether words chosen by that site also occur in it (BREACH).  Browsers report the requesting site; public
// files are compressed for all.
HttpResponse compressed_for(const HttpRequest& request, HttpResponse response);

}  // namespace brood
