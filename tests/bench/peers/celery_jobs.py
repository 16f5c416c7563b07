"""The jobs of brood's benchmarks, for Celery.  As a program it pushes them: celery_jobs.py noop N | latency N MILLISECONDS"""

import os
import random
import sys
import time

from celery import Celery

app = Celery("celery_jobs", broker="redis+socket://" + os.environ["BENCH_SOCKET"])
# As brood does: a result is kept nowhere, and a job is acknowledged only when it is done.
app.conf.task_ignore_result = True
app.conf.task_acks_late = True
app.conf.worker_hijack_root_logger = False


@app.task(name="noop")
def noop(_number):
    pass


@app.task(name="latency")
def latency(pushed_ns):
    microseconds = (time.monotonic_ns() - pushed_ns) / 1000
    with open(os.environ["BENCH_LATENCIES"], "a", encoding="ascii") as file:
        file.write(f"{microseconds}\n")


def push(kind, count, pause_ms="0"):
    with app.producer_pool.acquire() as producer:
        for number in range(int(count)):
            if kind == "noop":
                noop.apply_async((number,), producer=producer)
            else:
                latency.apply_async((time.monotonic_ns(),), producer=producer)
                time.sleep(int(pause_ms) / 1000 + random.random() / 1000)


if __name__ == "__main__":
    push(*sys.argv[1:])
