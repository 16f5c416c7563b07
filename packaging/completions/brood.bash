# Completes brood's commands and options in bash; needs no other completion file.

# Offers names of one kind: asks brood itself, which answers within a second or not at all, of the Redis that the line
# names.  Readline takes identities apart at their colons: what stands before the last one is there already.
_brood_names() {
  local where=() i before=
  for ((i = 1; i + 1 < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in --redis | -C | --config | --shard) where+=("${COMP_WORDS[i]}" "${COMP_WORDS[i + 1]}") ;; esac
  done
  for ((i = COMP_CWORD; i > 1; i--)); do
    [[ ${COMP_WORDS[i]} == : || ${COMP_WORDS[i - 1]} == : ]] || break
    before=${COMP_WORDS[i - 1]}$before
  done
  [ "$word" != : ] || { before+=:; word=; }
  mapfile -t COMPREPLY < <(brood names "$1" "${where[@]}" 2>/dev/null)
  mapfile -t COMPREPLY < <(
    for i in "${COMPREPLY[@]}"; do [[ $i != "$before$word"* ]] || printf '%s\n' "${i#"$before"}"; done)
}

# Offers what an argument of the class may be: its values where they are few, else its name and kind, of which nothing is
# put into the line.  A text is often a file.
_brood_argument() {
  local place=0 i told
  for ((i = 3; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in -*) place=; break ;; *) place=$((place + 1)) ;; esac
  done
  [ -z "$place" ] || mapfile -t told < <(brood names arguments "${COMP_WORDS[2]}" "$place" 2>/dev/null)
  if [[ ${#told[@]} -eq 0 || ${told[0]} == *:string ]]; then
    compopt -o default
  elif [[ ${told[0]} == *:* ]]; then
    [ -n "$word" ] || COMPREPLY=("${told[0]}" " ")
  else
    mapfile -t COMPREPLY < <(compgen -W "${told[*]}" -- "$word")
  fi
}

_brood() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} options
  local every="-h --help -V --version" redis="-C --config --redis" where
  local filters="--class --queue --error --tag --jid --match --older-than --newer-than" verbs=
  local foreground="-r --require --attempt --timeout --memory-limit --push --without-sandbox -v --verbose --gdb --valgrind --debugger"
  where="$redis --shard"
  COMPREPLY=()

  if [[ $COMP_CWORD -eq 1 || $COMP_CWORD -eq 2 && $command == help ]]; then
    mapfile -t COMPREPLY < <(compgen -W "run enqueue status show queues retries scheduled dead batches quarantine classes limits periodic locks sequences errors keys processes mark restart upgrade scale quiet resume stop reopen dump kill cancel perform replay import schema new recover web bench help -h --help -V --version" -- "$word")
    return
  fi
  case $command in
    run) options="-c --concurrency -q --queue -r --require -t --timeout -e --environment -g --tag --instance --log-format -v --verbose --check --startup $redis $every" ;;
    enqueue) options="-q --queue --in --at --retry --timeout --expires-in --encrypt --unique --unique-for --unique-until --on-conflict --keep-result --wait --sequence --if-failed --tag --args --string --jid --bulk --unchecked --spread --shard-by --json $where $every" ;;
    status) options="--alive --check --crash --format --interval --json --metrics --watch $where $every" ;;
    show) options="--json $where $every" ;;
    queues) options="$filters --limit --page --dry-run --yes --json $where $every" verbs="list show pause unpause delete clear" ;;
    retries | scheduled) options="$filters --all --limit --page --in --at --dry-run --yes --json $where $every" verbs="list show run kill delete clear reschedule" ;;
    dead) options="$filters --all --limit --page --dry-run --yes --json $where $every" verbs="list show run delete clear" ;;
    processes) options="--json $where $every" verbs="list quiet resume stop dump" ;;
    batches) options="--limit --page --description --parent --on-success --on-death --on-complete --on-finished --callback-queue --unchecked --json $where $every" verbs="list show check cancel delete push" ;;
    quarantine) options="--json $where $every" verbs="list release" ;;
    classes) options="--reason --until --json $where $every" verbs="list show pause unpause" ;;
    periodic) options="--cron --class --args --tz -q --queue --retry --catch-up --within --overlap --jitter --enabled-on --replace --unchecked --dry-run --json $where $every" verbs="list next history run add remove pause unpause check" ;;
    locks) options="--json $where $every" verbs="list show release check" ;;
    errors) options="-C --config --json $every" verbs="test" ;;
    keys) options="--json $every" verbs="new" ;;
    sequences) options="--json $where $every" verbs="list show delete" ;;
    limits) options="--json $where $every" verbs="list show reset" ;;
    mark) options="--json $where $every" ;;
    restart) options="--all --process --loaded-before --timeout --dry-run --pid --instance --json $where $every" ;;
    upgrade | quiet | resume | reopen) options="--pid --instance -C --config --json $every" ;;
    scale) options="--capsule --process --all --pid --instance --json $where $every" ;;
    stop) options="--now --pid --instance -C --config --json $every" ;;
    dump) options="--json $every" ;;
    kill) options="--outcome --json $where $every" ;;
    cancel) options="--iterable --json $where $every" ;;
    perform) options="--args --string --payload -q --queue --jid -C --config $foreground $every" ;;
    replay) options="-q --queue $foreground $where $every" ;;
    new | schema) options="$every" ;;
    import) options="-e --environment --ruby --schedule --json $every" ;;
    recover) options="--all --dry-run --yes --wait --json $where $every" ;;
    web) options="--listen --read-only $where $every" ;;
    bench) options="-j --jobs -w --workers --queues --job-ms --latency-jobs --idle --max-batch --append-only --appendfsync --log-jobs --json $where $every" ;;
    *) return ;;
  esac

  # Readline takes "--config=file" apart at the "=".
  if [ "$word" = "=" ]; then
    word=
  elif [ "$previous" = "=" ]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $command:$previous in
    *:--class) _brood_names classes; return ;;
    enqueue:-q | *:--queue | replay:-q) [ "$command" = run ] || _brood_names queues; return ;;
    batches:--callback-queue) _brood_names queues; return ;;
    periodic:-q) _brood_names queues; return ;;
    periodic:--cron | periodic:--args | periodic:--tz | periodic:--within | periodic:--jitter | periodic:--enabled-on) return ;;
    periodic:--retry) mapfile -t COMPREPLY < <(compgen -W "true false" -- "$word"); return ;;
    periodic:--catch-up) mapfile -t COMPREPLY < <(compgen -W "none last all" -- "$word"); return ;;
    periodic:--overlap) mapfile -t COMPREPLY < <(compgen -W "allow skip queue" -- "$word"); return ;;
    classes:--reason | classes:--until) return ;;
    batches:--parent) _brood_names batches; return ;;
    batches:--on-*) _brood_names published; return ;;
    *:--pid) _brood_names pids; return ;;
    *:--instance) [ "$command" = run ] || _brood_names instances; return ;;
    scale:--process | restart:--process) _brood_names supervisors; return ;;
    scale:--capsule) _brood_names capsules; return ;;
    status:--crash) _brood_names crashes; return ;;
    *:--shard) _brood_names shards; return ;;
  esac
  if [[ -n $verbs && " $filters --limit --page --in --at --description " == *" $previous "* && $previous == --* ]]; then
    return    # a value that nobody can guess
  fi
  case $command:$previous in
    *:-C | *:--config | *:-r | *:--require | enqueue:--bulk | import:--schedule | import:--ruby) compopt -o default ;;
    *:--redis) mapfile -t COMPREPLY < <(compgen -W "embedded" -- "$word") ;;
    run:--log-format) mapfile -t COMPREPLY < <(compgen -W "text json" -- "$word") ;;
    bench:--appendfsync) mapfile -t COMPREPLY < <(compgen -W "always everysec no" -- "$word") ;;
    kill:--outcome) mapfile -t COMPREPLY < <(compgen -W "retry dead discard" -- "$word") ;;
    status:--metrics) mapfile -t COMPREPLY < <(compgen -W "auto all host redis" -- "$word") ;;
    status:--format) mapfile -t COMPREPLY < <(compgen -W "text json prometheus" -- "$word") ;;
    enqueue:--unique-until) mapfile -t COMPREPLY < <(compgen -W "start done running" -- "$word") ;;
    enqueue:--if-failed) mapfile -t COMPREPLY < <(compgen -W "wait pass" -- "$word") ;;
    enqueue:--on-conflict) mapfile -t COMPREPLY < <(compgen -W "drop replace extend after" -- "$word") ;;
    enqueue:--retry) mapfile -t COMPREPLY < <(compgen -W "true false" -- "$word") ;;
    perform:--debugger | replay:--debugger) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
    perform:-q | replay:-q | perform:--queue | replay:--queue | *:--attempt | *:--memory-limit | perform:--timeout | replay:--timeout) ;;
    perform:--args | perform:--payload | perform:--jid) ;;
    run:-[cqteg] | run:--concurrency | run:--queue | run:--timeout | run:--environment | run:--tag) ;;
    bench:-[jw] | bench:--jobs | bench:--workers | bench:--queues | bench:--job-ms | bench:--latency-jobs | bench:--idle | bench:--max-batch) ;;
    import:-e | import:--environment) mapfile -t COMPREPLY < <(compgen -W "production staging development" -- "$word") ;;
    web:--listen) mapfile -t COMPREPLY < <(compgen -W "unix: 127.0.0.1:7433" -- "$word") ;;
    status:--interval | recover:--wait | restart:--loaded-before | restart:--timeout | *:--pid | *:--instance | enqueue:-q | enqueue:--queue | enqueue:--in | enqueue:--at | enqueue:--timeout | enqueue:--expires-in | enqueue:--unique-for | enqueue:--tag | enqueue:--spread | enqueue:--shard-by | enqueue:--args | enqueue:--jid | enqueue:--sequence) ;;
    *)
      if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
      elif [ -n "$verbs" ] && [ "$COMP_CWORD" -eq 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$word")
      elif [[ $command == batches && ${COMP_WORDS[2]} == push ]]; then
        compopt -o default
      elif [ "$command" = queues ]; then
        _brood_names queues
      elif [[ $command == retries || $command == scheduled || $command == dead || $command == processes || $command == batches || $command == periodic || $command == locks || $command == limits || $command == sequences ]]; then
        _brood_names "$command"
      elif [ "$command" = quarantine ]; then
        _brood_names quarantined
      elif [ "$command" = classes ]; then
        case ${COMP_WORDS[2]} in unpause) _brood_names paused_classes ;; show) _brood_names published ;; *) _brood_names classes ;; esac
      elif [ "$command" = kill ]; then
        _brood_names running
      elif [ "$command" = show ]; then
        _brood_names running
      elif [ "$command" = cancel ]; then
        _brood_names scheduled
      elif [ "$command" = replay ]; then
        _brood_names retries
      elif [ "$command" = recover ]; then
        _brood_names supervisors
      elif [[ $command == enqueue || $command == perform ]] && [ "$COMP_CWORD" -eq 2 ]; then
        _brood_names "$([ "$command" = enqueue ] && echo published || echo classes)"
      elif [ "$command" = new ]; then
        compopt -o dirnames
      elif [ "$command" = keys ]; then
        compopt -o default
      elif [[ $command == enqueue || $command == perform ]] && [ "$COMP_CWORD" -gt 2 ]; then
        _brood_argument
      fi
      ;;
  esac
}

complete -F _brood brood
