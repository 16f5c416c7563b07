# Sidekiq's stock Web UI, without a network: the Rack application is called in this process.
require "rack"
require "rack/session/cookie"
require "sidekiq/web"

# A browser with one cookie.
class Browser
  UI = Rack::Builder.new do
    use Rack::Session::Cookie, secret: "a secret of the tests alone, long enough for everybody's taste and 64 bytes"
    run Sidekiq::Web
  end.to_app

  def initialize = @application = Rack::MockRequest.new(UI)

  def get(path) = remember(@application.get(path, headers))

  # The text of an existing page.
  def page(path)
    response = get(path)
    raise Minitest::Assertion, "#{path} is answered #{response.status}:\n#{response.body}" unless response.status == 200
    response.body.dup.force_encoding(Encoding::UTF_8)
  end

  # Sends the form on page `path` as its button would.
  def press(path, **fields)
    token = get(path).body[/name=["']authenticity_token["'] value=["']([^"']+)/, 1]
    remember(@application.post(path, headers.merge(params: fields.transform_keys(&:to_s).merge("authenticity_token" => token))))
  end

  private

  def headers = { "HTTP_SEC_FETCH_SITE" => "same-origin", "HTTP_COOKIE" => @cookie }.compact

  def remember(response)
    cookie = response["Set-Cookie"]
    @cookie = cookie.split(";").first if cookie
    response
  end
end

