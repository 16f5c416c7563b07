#!/usr/bin/env python3
import json, sys

job = json.load(sys.stdin)              # the whole payload: class, args, jid, queue ...
text, result = job["args"]
words = open(text).read().split()
if not words:
    sys.exit(f"{text} is empty")        # to standard error, status 1: the job has failed
with open(result, "w") as file:
    file.write(str(len(words)))
print(f"counted {len(words)} words")    # to the log, with jid and class
