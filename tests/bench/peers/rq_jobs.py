"""The jobs of brood's benchmarks, for RQ.  As a program it pushes them: rq_jobs.py noop N | latency N MILLISECONDS"""

import os
import random
import sys
import time


def noop(_number):
    pass


def latency(pushed_ns):
    microseconds = (time.monotonic_ns() - pushed_ns) / 1000
    with open(os.environ["BENCH_LATENCIES"], "a", encoding="ascii") as file:
        file.write(f"{microseconds}\n")


def push(kind, count, pause_ms="0"):
    from redis import Redis
    from rq import Queue

    queue = Queue(connection=Redis(unix_socket_path=os.environ["BENCH_SOCKET"]))
    for number in range(int(count)):
        if kind == "noop":
            queue.enqueue("rq_jobs.noop", number, result_ttl=0)
        else:
            queue.enqueue("rq_jobs.latency", time.monotonic_ns(), result_ttl=0)
            time.sleep(int(pause_ms) / 1000 + random.random() / 1000)


if __name__ == "__main__":
    push(*sys.argv[1:])
