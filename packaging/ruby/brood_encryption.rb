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
# The format, and who may read what, is in /usr/share/doc/brood/encryption.md.

require "json"
require "openssl"
require "sidekiq"
require "sidekiq/api"
require "sidekiq/job_retry"

module BroodEncryption
  PREFIX = "brood1."
  ENVELOPE = /\Abrood1\.([1-9][0-9]{0,6})\.([A-Za-z0-9_-]+)\z/
  NONCE_BYTES = 12
  TAG_BYTES = 16
  KEY_BYTES = 32
  READING = Mutex.new

  # What cannot be opened.  Its message holds nothing of what was encrypted.
  class DecryptionError < StandardError; end

  # A key file that cannot be read or used.
  class KeyError < StandardError; end

  class << self
    # Adds both middlewares.  Without `keys` the variable BROOD_ENCRYPTION_KEYS says where they are, as brood sets it
    # for its jobs: "1=/etc/brood/key1,2=/etc/brood/key2".  By the highest version is encrypted, unless `active` says
    # otherwise.  What others see of a job's arguments in their middleware is what Redis holds, if they are added before
    # this.
    #
    # The files are read when the first argument is encrypted or decrypted, and when a Sidekiq process starts: a task
    # such as assets:precompile needs none.
    def install(keys: nil, active: nil)
      READING.synchronize { @ring, @given = nil, { keys: keys, active: active } }
      Sidekiq.configure_client { |config| add_middleware(config) }
      Sidekiq.configure_server do |config|
        add_middleware(config)
        config.on(:startup) { BroodEncryption.ring }
      end
    end

    # The keys alone, read at once: versions and the files that hold them, 32 bytes each, raw or in base64.
    def use(keys: nil, active: nil)
      READING.synchronize { @ring = read_ring(keys, active) }
    end

    # The keys by their versions, and the version to encrypt by.  Raises KeyError, and tries again the next time.
    def ring
      READING.synchronize { @ring ||= @given ? read_ring(@given[:keys], @given[:active]) : { keys: {}, active: nil } }
    end

    # With Sidekiq's own testing modes no job reaches Redis, and none is encrypted.
    def testing? = defined?(Sidekiq::Testing) && Sidekiq::Testing.enabled?

    def seal(clear, job)
      active = ring[:active]
      key = ring[:keys][active] or raise KeyError, "there is no key to encrypt by"
      cipher = OpenSSL::Cipher.new("aes-256-gcm").encrypt
      cipher.key = key
      nonce = cipher.random_iv
      cipher.auth_data = owner(job)
      body = cipher.update(clear.b) + cipher.final
      encoded = [nonce + body + cipher.auth_tag(TAG_BYTES)].pack("m0").tr("+/", "-_").delete("=")
      "#{PREFIX}#{active}.#{encoded}"
    end

    def open(envelope, job)
      match = ENVELOPE.match(envelope.to_s) if envelope.is_a?(String)
      raise DecryptionError, "its last argument is no envelope of brood" unless match

      version = Integer(match[1])
      key = ring[:keys][version] or raise DecryptionError, "there is no key of version #{version}"
      decrypt(key, match[2], job)
    rescue OpenSSL::Cipher::CipherError, ArgumentError
      raise DecryptionError, "it is not what was encrypted by the key of version #{version} for this class and jid"
    end

    # What opens is ours.  What looks so and has a key that we do not know, or cannot read, is left alone: it may be a job
    # that is pushed again, and must not be lost.
    def sealed?(value, job)
      match = value.is_a?(String) && ENVELOPE.match(value)
      return false unless match
      return true unless ring[:keys].key?(Integer(match[1]))

      open(value, job)
      true
    rescue DecryptionError
      false
    rescue KeyError
      true
    end

    private

    # Whatever performs a job decrypts it: perform_inline does so where jobs are pushed.
    def add_middleware(config)
      config.client_middleware { |chain| chain.add(Client) }
      config.server_middleware { |chain| chain.add(Server) }
    end

    def read_ring(keys, active)
      told = keys ? { files: keys, active: active } : told_keys
      read = told[:files].to_h { |version, path| [Integer(version), read_key(path)] }
      active ||= told[:active] || read.keys.max
      raise KeyError, "the active key has the version #{active}, which none has" if active && !read.key?(active)

      { keys: read, active: active }
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
    rescue SystemCallError => error
      raise KeyError, "the key #{path} cannot be read: #{error.message}"
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
    include Sidekiq::JobUtil

    def call(_job_class, job, _queue, _redis_pool)
      args = job["args"]
      if job["encrypt"] && !args.empty? && !BroodEncryption.testing? && !BroodEncryption.sealed?(args.last, job)
        check(job)
        job["args"] = args[0...-1] + [BroodEncryption.seal(JSON.generate(args.last), job)]
      end
      yield
    end

    private

    # Sidekiq 7 and later look at the arguments behind all middleware, where the last one is a string.
    def check(job)
      if job["unique_by"] || job["unique_until"].to_s == "running"
        raise ArgumentError, "an encrypted job is unique by all of its arguments, and not while it runs"
      end
      verify_json(job) if respond_to?(:verify_json)
    end
  end

  # Decrypts it for perform alone: what is retried, and what error handlers are given, is what Redis holds.  A job that
  # cannot be decrypted goes to the dead set at once, since no retry would change that; death handlers and error handlers
  # hear of it.
  class Server
    def call(job_instance, job, _queue)
      return yield if !job["encrypt"] || BroodEncryption.testing?

      stored = job["args"]
      begin
        job["args"] = stored[0...-1] + [clear(stored, job)]
      rescue DecryptionError => error
        raise unless by_sidekiq?(job_instance)

        bury(job, error)
        raise Sidekiq::JobRetry::Handled # with its cause, which Sidekiq tells error handlers
      end
      begin
        yield
      ensure
        job["args"] = stored
      end
    end

    private

    # False: perform_inline called it, whose caller hears of the error.
    def by_sidekiq?(job_instance)
      job_instance.respond_to?(:_context) ? !job_instance._context.nil? : Sidekiq.server?
    end

    def clear(stored, job)
      raise DecryptionError, "it has no argument that could be encrypted" if stored.empty?

      JSON.parse("[#{BroodEncryption.open(stored.last, job)}]", max_nesting: false).first
    rescue JSON::ParserError
      raise DecryptionError, "what was encrypted is no JSON"
    end

    def bury(job, error)
      failed_at = job["created_at"].is_a?(Integer) ? (Time.now.to_f * 1000).to_i : Time.now.to_f
      record = job.merge("error_class" => "DecryptionError", "error_message" => error.message, "failed_at" => failed_at)
      Sidekiq::DeadSet.new.kill(Sidekiq.dump_json(record), notify_failure: false) unless job["dead"] == false
      death_handlers.each do |handler|
        handler.call(record, error)
      rescue StandardError => failure
        Sidekiq.logger.error { "a death handler failed: #{failure.class}: #{failure.message}" }
      end
    end

    def death_handlers
      Sidekiq.respond_to?(:default_configuration) ? Sidekiq.default_configuration.death_handlers : Sidekiq.death_handlers
    end
  end
end
