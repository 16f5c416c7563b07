# frozen_string_literal: true

# Pushes of Ruby's Sidekiq (6.4 to 8) that go by what brood's workers publish of their job classes.
#
#   require "/usr/share/brood/ruby/brood_classes"
#   Brood::Classes.install
#
#   Sidekiq::Client.push("class" => "ResizeImage", "args" => ["cat.png", 320])
#
# The job gets the queue, the retries and all other options of the C++ class, where neither the push nor the Ruby class
# gives them.  Sidekiq's own defaults, queue "default" and `retry: true`, count as not given, since a payload does not
# show who chose them.  A push that the class would not take is refused: Brood::Classes::Refused.  Ruby's own classes, which no
# worker of brood publishes, are pushed as ever.  Install it before brood_encryption.rb and brood_unique_jobs.rb, or
# after them: it comes first in either case.
#
#   Brood::Classes.options("ResizeImage")   # => {"queue" => "images", "retry" => 5, ...}; nil: nobody publishes it
#   Brood::Classes.check("ResizeImage", ["cat.png", "wide"])  # => a sentence; nil: the arguments fit
#
# `brood classes show CLASS` prints the same in a shell.

require "json"
require "sidekiq"

module Brood
  # Named so in Redis: a document by build, and "<since> <seen>" by build.
  module Classes
    DOCUMENTS = "brood:classes"
    SEEN = "brood:classes:seen"
    GONE_AFTER = 900 # seconds
    KEPT_FOR = 30 # seconds, until Redis is asked again
    LONGEST_DOCUMENT = 1 << 20
    MOST_BUILDS = 64
    DEFAULTS = { "queue" => "default", "retry" => true }.freeze
    # What a push takes from its class.
    MEMBERS = %w[retry_queue dead backtrace tags retry_for expires_in encrypt keep_result unique_until unique_for on_conflict].freeze
    UNIQUE = %w[unique_until unique_for unique_by on_conflict].freeze

    ENVELOPE = /\Abrood1\.[1-9][0-9]{0,6}\.[A-Za-z0-9_-]+\z/ # as brood_encryption.rb has it

    # A push that the class would not take.
    class Refused < ArgumentError; end

    @lock = Mutex.new

    class << self
      # `check`: false takes the options alone, and refuses only an argument that would lie in clear as if it were encrypted.
      def install(check: true)
        @checks = check
        Sidekiq::Client.prepend(PushedBefore) unless Sidekiq::Client.ancestors.include?(PushedBefore)
        Sidekiq.configure_client { |config| add_to(config) }
        Sidekiq.configure_server { |config| add_to(config) }
      end

      def checks? = @checks != false

      # What the newest build says; nil: no worker publishes this class.
      def options(job_class) = said_of(job_class).first&.fetch("options", {})

      # Why no build would take these arguments: a sentence; nil: one would, or no worker publishes the class.
      def check(job_class, args)
        said = encrypting_as_any_does(said_of(job_class))
        problems = said.map { |known| Arguments.problem(job_class, known, args) }
        problems.first if problems.any? && problems.all?
      end

      # The push with the options of its class.  `encrypts`: whether its last argument is encrypted behind this.  Raises
      # Refused.  A class that cannot be read changes nothing.
      def go_by(job, encrypts: true)
        said = encrypting_as_any_does(said_of(job["class"].to_s))
        said.empty? ? job : job.replace(judged(job.dup, said.first, encrypts))
      rescue Refused
        raise
      rescue StandardError => e
        Sidekiq.logger.warn("brood_classes: what is published of #{job["class"]} cannot be read, and is ignored: #{e.class}")
        job
      end

      # Redis is asked again at the next push.
      def forget = @lock.synchronize { @builds = @asked_at = nil }

      private

      def add_to(config)
        config.client_middleware { |chain| chain.prepend(Client) unless chain.exists?(Client) }
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # The newest first: of builds that run, else of those that are gone.
      def said_of(job_class)
        having = builds.select { |build| build[:classes].is_a?(Hash) && build[:classes][job_class].is_a?(Hash) }
        running = having.select { |build| build[:runs] }
        (running.empty? ? having.first(1) : running).map { |build| build[:classes][job_class] }
      end

      # A secret of one build is one of all.
      def encrypting_as_any_does(said)
        all = said.map { |known| known["options"].is_a?(Hash) ? known["options"] : {} }
        return said if all.none? { |options| options["encrypt"] }

        said.zip(all).map { |known, options| known.merge("options" => options.merge("encrypt" => true)) }
      end

      def builds
        @lock.synchronize do
          return @builds if @builds && now - @asked_at < KEPT_FOR

          @asked_at = now
          @builds = read_builds
        rescue StandardError => e
          # A push must not fail for this: if Redis is away, the push itself says so.
          Sidekiq.logger.warn("brood_classes: #{e.class}: #{e.message}")
          @builds ||= []
        end
      end

      def read_builds
        seen, time = Sidekiq.redis { |connection| [call(connection, "HGETALL", SEEN).to_h, call(connection, "TIME").first.to_i] }
        known = seen.filter_map { |name, text| known_build(name, text, time) }
        known = known.sort_by { |build| [build[:runs] ? 0 : 1, -(build[:runs] ? build[:since] : build[:seen])] }.first(MOST_BUILDS)
        return [] if known.empty?

        documents = Sidekiq.redis { |connection| call(connection, "HMGET", DOCUMENTS, *known.map { |build| build[:name] }) }
        known.zip(documents).map { |build, text| build.merge(classes: read_document(build[:name], text)) }
      end

      def known_build(name, text, time)
        since, seen = text.to_s.match(/\A(\d{1,12}) (\d{1,12})\z/)&.captures&.map(&:to_i)
        # A time that lies ahead was written by a clock that has been set back, or by another program.
        { name: name, since: [since, seen, time].min, seen: [seen, time].min, runs: (time - seen).abs <= GONE_AFTER } if since
      end

      def read_document(name, text)
        return {} if text.nil? || text.bytesize > LONGEST_DOCUMENT

        document = JSON.parse(text)
        document.is_a?(Hash) && document["classes"].is_a?(Hash) ? document["classes"] : {}
      rescue JSON::ParserError
        Sidekiq.logger.warn("brood_classes: what build #{name} publishes cannot be read, and is ignored")
        {}
      end

      # The gem redis, of Sidekiq 6, and redis-client take commands in two ways.
      def call(connection, *words)
        return connection.call(words).then { |reply| pairs(words, reply) } if Sidekiq::VERSION.to_i < 7

        connection.call(*words).then { |reply| pairs(words, reply) }
      end

      def pairs(words, reply) = words.first == "HGETALL" && reply.is_a?(Array) ? Hash[*reply] : reply

      def judged(job, known, encrypts)
        problem = checks? && !sealed?(job) && check(job["class"].to_s, job["args"])
        raise Refused, problem if problem
        raise Refused, "#{job["class"]} encrypts its last argument, and this push has it in clear" if checks? && in_clear?(job, known)

        must_be_encrypted(job) if known.dig("options", "encrypt") && !job.key?("encrypt") && !encrypts
        take_options(job, known)
      end

      def take_options(job, known)
        options = known["options"].is_a?(Hash) ? known["options"] : {}
        DEFAULTS.each { |name, usual| job[name] = options[name] if options.key?(name) && job.fetch(name, usual) == usual }
        own_lock = UNIQUE.any? { |name| job.key?(name) }
        (own_lock ? MEMBERS - UNIQUE : MEMBERS).each { |name| job[name] = options[name] if options.key?(name) && !job.key?(name) }
        places = options["unique_by"]
        job["unique_by"] = values_at(places, known, job["args"]) if places.is_a?(Array) && !own_lock
        job
      end

      def values_at(places, known, args)
        fields = known["fields"].is_a?(Array) ? known["fields"] : []
        places.map { |place| place < args.size ? args[place] : fields.dig(place, "default") }
      end

      def in_clear?(job, known) = known.dig("options", "encrypt") && job.key?("encrypt") && !job["encrypt"]

      def must_be_encrypted(job)
        return if job["args"].empty? || envelope?(job["args"].last)

        raise Refused, "#{job["class"]} encrypts its last argument, and this client does not: require brood_encryption.rb, " \
                       "and call BroodEncryption.install"
      end

      # Its last argument is encrypted already, and cannot be checked.
      def sealed?(job) = job["encrypt"] && envelope?(job["args"].last)

      def envelope?(value) = value.is_a?(String) && value.match?(ENVELOPE)
    end

    # Whether arguments fit the fields of a class, as its worker would judge.
    module Arguments
      module_function

      def problem(job_class, known, args)
        fields = known["fields"]
        return unless fields.is_a?(Array)

        least = known["required"].to_i
        unless args.size.between?(least, fields.size)
          taken = "#{"#{least} to " unless least == fields.size}#{fields.size} argument#{"s" unless fields.size == 1}"
          names = fields.map { |field| field["name"] }.join(", ")
          return "#{job_class} takes #{taken} (#{names}), got #{args.size}"
        end
        secret = known.dig("options", "encrypt")
        args.each_with_index do |value, i|
          expected = misfit(fields[i], value) or next
          got = secret && i == args.size - 1 ? "" : ", got #{JSON.generate(value)[0, 60]}"
          return "#{job_class}: argument #{i + 1} (#{fields[i]["name"]}): expected #{expected}#{got}"
        end
        nil
      end

      # What was expected in place of `value`; nil: it fits.
      def misfit(type, value)
        return unless type.is_a?(Hash)
        return if value.nil? && type["nullable"]

        case type["type"]
        when "null" then "null" unless value.nil?
        when "boolean" then "true or false" unless [true, false].include?(value)
        when "integer" then "an integer from #{type["min"]} to #{type["max"]}" unless integer?(type, value)
        when "number" then "a number" unless value.is_a?(Numeric)
        when "string" then "a string" unless value.is_a?(String) || value.is_a?(Symbol)
        when "enum" then "one of #{type["names"].to_a.join(", ")}" unless [*type["names"], *type["numbers"]].include?(value.is_a?(Symbol) ? value.to_s : value)
        when "array" then array_misfit(type, value)
        when "object" then value.is_a?(Hash) ? first_misfit([type["values"]] * value.size, value.values) : "a hash"
        when "struct" then struct_misfit(type, value)
        when "variant" then "a value of one of its types" unless type["types"].to_a.any? { |one| misfit(one, value).nil? }
        end
      end

      def integer?(type, value) = value.is_a?(Integer) && (!type["min"] || value.between?(type["min"], type["max"]))

      def array_misfit(type, value)
        return "an array" unless value.is_a?(Array)
        return "an array of #{type["size"]}" if type["size"] && value.size != type["size"]

        first_misfit(type["items"].is_a?(Array) ? type["items"] : [type["items"]] * value.size, value)
      end

      def struct_misfit(type, value)
        fields = type["fields"].to_a
        if value.is_a?(Hash)
          unknown = value.keys.map(&:to_s) - fields.map { |field| field["name"] }
          return "fields #{fields.map { |field| field["name"] }.join(", ")}, none called #{unknown.first}" if unknown.any?

          given = fields.select { |field| value.key?(field["name"]) || value.key?(field["name"].to_sym) }
          return first_misfit(given, given.map { |field| value.fetch(field["name"]) { value[field["name"].to_sym] } })
        end
        return "a hash or an array of its fields" unless value.is_a?(Array) && value.size.between?(type["required"].to_i, fields.size)

        first_misfit(fields, value)
      end

      def first_misfit(types, values) = values.each_with_index.lazy.filter_map { |value, i| misfit(types[i], value) }.first
    end

    # A job that was pushed before has its jid and its time.  Ruby's scheduler and Sidekiq's pages have taken it from where
    # it lay: if its push were refused, it would be lost.  A bulk push makes new jobs.
    module PushedBefore
      def self.jid = Thread.current[:brood_pushed_before]

      def push(item)
        outer = PushedBefore.jid
        Thread.current[:brood_pushed_before] = (item["jid"] if item.is_a?(Hash) && item["created_at"])
        super
      ensure
        Thread.current[:brood_pushed_before] = outer
      end
    end

    # The client's middleware.
    class Client
      include Sidekiq::ClientMiddleware if defined?(Sidekiq::ClientMiddleware)

      def call(_job_class, job, _queue, _pool)
        Classes.go_by(job, encrypts: encrypts?) unless pushed_before?(job) || job.key?("wrapped")
        yield
      end

      private

      def encrypts?
        chain = (respond_to?(:config) ? config : Sidekiq).client_middleware
        defined?(BroodEncryption::Client) && chain.exists?(BroodEncryption::Client)
      end

      # It has its options, and is never refused.
      def pushed_before?(job) = job["jid"] == PushedBefore.jid || job.key?("retry_count") || job.key?("enqueued_at")
    end
  end
end
