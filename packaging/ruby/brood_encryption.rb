# frozen_string_literal: true

# Jobs whose last argument is encrypted, for a Ruby Sidekiq (6.4 to 8) that works beside brood: what one side pushes,
# the other performs.
#
#   require "/usr/share/brood/ruby/brood_encryption"
#   BroodEncryption.install(keys: { 1 => "/etc/brood/key1" })
#
#   class Charge
#     include Sidekiq::Job
#     sidekiq_options encrypt: true
#     def perform(order, card) = ...     # card is encrypted in Redis
#   end
#
# The format, and who may read what, is in /usr/share/doc/brood/operating.md.

require "json"
require "openssl"
require "sidekiq"
require "sidekiq/api"

module BroodEncryption
  PREFIX = "brood1."
  ENVELOPE = /\Abrood1\.([1-9][0-9]{0,6})\.([A-Za-z0-9_-]+)\z/
  NONCE_BYTES = 12
  TAG_BYTES = 16
  KEY_BYTES = 32

  # What cannot be opened.  Its message holds nothing of what was encrypted.
  class DecryptionError < StandardError; end

  # A key file that cannot be used.
  class KeyError < StandardError; end

  class << self
    # Adds both middlewares.  Without `keys` the variable BROOD_ENCRYPTION_KEYS says where they are, as brood sets it
    # for its jobs: "1=/etc/brood/key1,2=/etc/brood/key2".  By the highest version is encrypted, unless `active` says
    # otherwise.  What others see of a job's arguments in their middleware is what Redis holds, if they are added before
    # this.
    def install(keys: nil, active: nil)
      use(keys: keys, active: active)
      Sidekiq.configure_client { |config| add_client(config) }
      Sidekiq.configure_server do |config|
        add_client(config)
        config.server_middleware { |chain| chain.add(Server) }
      end
    end

    # The keys alone: versions and the files that hold them, 32 bytes each, raw or in base64.
    def use(keys: nil, active: nil)
      told = keys ? { files: keys, active: active } : told_keys
      @keys = told[:files].to_h { |version, path| [Integer(version), read_key(path)] }
      @active = active || told[:active] || @keys.keys.max
      raise KeyError, "the active key has the version #{@active}, which none has" if @active && !@keys.key?(@active)
    end

    def seal(clear, job)
      key = @keys && @keys[@active] or raise KeyError, "there is no key to encrypt by"
      cipher = OpenSSL::Cipher.new("aes-256-gcm").encrypt
      cipher.key = key
      nonce = cipher.random_iv
      cipher.auth_data = owner(job)
      body = cipher.update(clear.b) + cipher.final
      encoded = [nonce + body + cipher.auth_tag(TAG_BYTES)].pack("m0").tr("+/", "-_").delete("=")
      "#{PREFIX}#{@active}.#{encoded}"
    end

    def open(envelope, job)
      match = ENVELOPE.match(envelope.to_s) if envelope.is_a?(String)
      raise DecryptionError, "its last argument is no envelope of brood" unless match

      version = Integer(match[1])
      key = @keys && @keys[version] or raise DecryptionError, "there is no key of version #{version}"
      decrypt(key, match[2], job)
    rescue OpenSSL::Cipher::CipherError, ArgumentError
      raise DecryptionError, "it is not what was encrypted by the key of version #{version} for this class and jid"
    end

    # What opens is ours.  What looks so and has a key that we do not know is left alone.
    def sealed?(value, job)
      match = value.is_a?(String) && ENVELOPE.match(value)
      return false unless match
      return true unless @keys&.key?(Integer(match[1]))

      open(value, job)
      true
    rescue DecryptionError
      false
    end

    private

    def add_client(config)
      config.client_middleware { |chain| chain.add(Client) }
    end

    def owner(job)
      "#{job["class"]}\n#{job["jid"]}".b
    end

    def decrypt(key, encoded, job)
      bytes = (encoded.tr("-_", "+/") + "=" * (-encoded.size % 4)).unpack1("m0")
      raise ArgumentError, "too short" if bytes.bytesize <= NONCE_BYTES + TAG_BYTES

      cipher = OpenSSL::Cipher.new("aes-256-gcm").decrypt
      cipher.key = key
      cipher.iv = bytes.byteslice(0, NONCE_BYTES)
      cipher.auth_tag = bytes.byteslice(-TAG_BYTES, TAG_BYTES)
      cipher.auth_data = owner(job)
      clear = cipher.update(bytes.byteslice(NONCE_BYTES...-TAG_BYTES)) + cipher.final
      clear.force_encoding(Encoding::UTF_8)
    end

    def read_key(path)
      mode = File.stat(path).mode
      raise KeyError, "#{path} can be read or changed by every user of this machine: chmod 0400 it" if mode & 0o006 != 0

      bytes = File.binread(path, 129)
      return bytes if bytes.bytesize == KEY_BYTES

      text = bytes.strip.tr("-_", "+/").delete("=")
      key = (text + "=" * (-text.size % 4)).unpack1("m0")
      raise ArgumentError, "no key" unless key.bytesize == KEY_BYTES

      key
    rescue ArgumentError
      raise KeyError, "#{path} holds no key: it must be 32 bytes, or their base64 in one line"
    end

    def told_keys
      parts = ENV.fetch("BROOD_ENCRYPTION_KEYS", "").split(",").map { |part| part.split("=", 2) }
      active, files = parts.partition { |name, _| name == "active" }
      { files: files.to_h, active: active.empty? ? nil : Integer(active.last[1]) }
    end
  end

  # Encrypts the last argument of what is pushed with `encrypt`, after all other middleware that was added before.
  class Client
    def call(_job_class, job, _queue, _redis_pool)
      args = job["args"]
      if job["encrypt"] && (job["unique_by"] || job["unique_until"].to_s == "running")
        raise ArgumentError, "an encrypted job is unique by all of its arguments, and not while it runs"
      end
      if job["encrypt"] && !args.empty? && !BroodEncryption.sealed?(args.last, job)
        job["args"] = args[0...-1] + [BroodEncryption.seal(JSON.generate(args.last), job)]
      end
      yield
    end
  end

  # Decrypts it for perform alone: what is retried, and what error handlers are given, is what Redis holds.  A job that
  # cannot be decrypted goes to the dead set at once, since no retry would change that.
  class Server
    def call(_job_instance, job, _queue)
      return yield unless job["encrypt"]

      stored = job["args"]
      begin
        job["args"] = stored[0...-1] + [clear(stored, job)]
      rescue DecryptionError => error
        return bury(job, error)
      end
      begin
        yield
      ensure
        job["args"] = stored
      end
    end

    private

    def clear(stored, job)
      raise DecryptionError, "it has no argument that could be encrypted" if stored.empty?

      JSON.parse("[#{BroodEncryption.open(stored.last, job)}]", max_nesting: false).first
    rescue JSON::ParserError
      raise DecryptionError, "what was encrypted is no JSON"
    end

    def bury(job, error)
      failed_at = job["created_at"].is_a?(Integer) ? (Time.now.to_f * 1000).to_i : Time.now.to_f
      record = job.merge("error_class" => "DecryptionError", "error_message" => error.message, "failed_at" => failed_at)
      return if job["dead"] == false

      Sidekiq::DeadSet.new.kill(Sidekiq.dump_json(record))
    end
  end
end
