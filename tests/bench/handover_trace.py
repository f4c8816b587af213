# SPDX-License-Identifier: MIT
"""What makes the tail of a hand-over: perf's trace of the scheduler while all workers are busy.

    python3 tests/bench/handover_trace.py --data FOLDER [--build BUILD] [--seconds 5] [--workers 2]

As root, with perf. Runs what the section "latency" of the bench measures, and splits each batch of
the waiting trainer, by the trace, into hops:

    worker -> loop    from the event that wakes the loop until it runs
    loop              from then until it has woken the trainer: it takes what is finished, sends
    loop -> trainer   from the trainer's being woken until it runs

Prints p50 and p99 of each hop, and of the slowest percent of all hand-overs how long each hop took
and what ran on the processor that was waited for, then the slowest ones alone. Hand-overs for which
processes waited that have nothing to do with it are counted apart, and left out.
"""

import argparse
import bisect
import collections
import contextlib
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from machine import Stokerd  # noqa: E402
from trainers import attached  # noqa: E402

TRAINER = "handover_bench"
LINE = re.compile(r"^\s*(.{1,16}?)\s+(\d+)\s+\[(\d+)\]\s+([\d.]+):\s+sched:(\w+):\s*(.*)$")
NEXT = re.compile(r"prev_state=(\S+) ==> (?:next_comm=)?.*?next_pid=(\d+)")
WAKES = re.compile(r"comm=(.*?) pid=(\d+)")
OURS = re.compile(r"stokerd|work-\d+|fetch-\d+|busy trainer|handover_bench|swapper/\d+|perf|sleep")
HOPS = ("worker -> loop", "loop", "loop -> trainer")


def record(options, folder):
    """perf's text of the scheduler's events; the loop, the trainer; and the other trainer, which
    keeps the workers busy."""
    trace = folder / "trace"
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Stokerd(options.build, options.workers,
                                             nice=options.nice))
        busy, = stack.enter_context(
            attached("stoker", 1, options, options.workers, daemon.socket))
        busy.tell("measure", options.seconds + 4)
        bench = options.build / "tests" / "bench" / TRAINER
        trainer = subprocess.Popen([bench, daemon.socket, options.data, str(options.seconds)],
                                   stdout=subprocess.PIPE, text=True)
        try:  # its first second is not measured
            subprocess.run(["perf", "record", "-a", "-q", "-m", "8M", "-o", trace, "-k", "mono",
                            "-e", "sched:sched_switch", "-e", "sched:sched_waking", "--", "sleep",
                            str(options.seconds)], check=True)
            print("as the trainer measures it, with perf beside it:", trainer.communicate()[0])
            busy.number()
        finally:
            trainer.kill()
        loop, other = daemon.pid, busy.pid
    text = subprocess.run(["perf", "script", "-i", trace, "-F", "comm,tid,cpu,time,event,trace"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=True).stdout
    return text, loop, trainer.pid, other


class HandOver:
    def __init__(self, since, loop_ran, sent, got, cpus):
        self.since, self.loop_ran, self.sent, self.got, self.cpus = (since, loop_ran, sent, got,
                                                                     cpus)

    @property
    def hops(self):
        return (self.loop_ran - self.since, self.sent - self.loop_ran, self.got - self.sent)

    @property
    def whole(self):
        return self.got - self.since


def parse(text, loop, trainer, busy):
    """[HandOver], times in us, and for each processor what ran when: [(time, name)]."""
    out, runs = [], collections.defaultdict(list)
    woken = loop_ran = sent = None
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        _, tid, cpu, time, event, rest = match.groups()
        time, tid, cpu = float(time) * 1e6, int(tid), int(cpu)
        if event == "sched_waking":
            target = int(WAKES.search(rest).group(2))
            if target == loop and tid != loop:
                woken = time
            elif target == trainer and tid == loop:
                sent = time
            continue
        following = int(NEXT.search(rest).group(2))
        name = re.search(r"next_comm=(.*?) next_pid", rest).group(1)
        runs[cpu].append((time, "busy trainer" if following == busy else name))
        if following == loop:
            loop_ran, loop_cpu = time, cpu
        elif following == trainer and sent and loop_ran and woken:
            if woken <= loop_ran <= sent:
                out.append(HandOver(woken, loop_ran, sent, time, (loop_cpu, cpu)))
            sent = None
    return out, runs


def ran_between(runs, begin, end):
    """{name: us} of one processor."""
    out = collections.Counter()
    first = max(bisect.bisect(runs, (begin,)) - 1, 0)
    for (time, name), (until, _) in zip(runs[first:], runs[first + 1:]):
        if time >= end:
            break
        if until > begin and time < end:
            out[name] += min(until, end) - max(time, begin)
    return out


def percentile(values, part):
    return sorted(values)[int(len(values) * part)]


def waited_for(one, runs, totals):
    """What ran where the loop, or the trainer, then ran."""
    totals[0].update(ran_between(runs[one.cpus[0]], one.since, one.loop_ran))
    totals[2].update(ran_between(runs[one.cpus[1]], one.sent, one.got))


def others_ran(one, runs):
    totals = [collections.Counter() for _ in HOPS]
    waited_for(one, runs, totals)
    totals[1].update(ran_between(runs[one.cpus[0]], one.loop_ran, one.sent))
    return any(not OURS.fullmatch(name) for total in totals for name in total)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--nice", type=int, default=5, help="of the workers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text, loop, trainer, busy = record(options, pathlib.Path(folder))
    found, runs = parse(text, loop, trainer, busy)
    if not found:
        raise SystemExit("the trace has no hand-over")
    alone = [one for one in found if not others_ran(one, runs)]
    print(f"{len(found) - len(alone)} of {len(found)} left out: others' processes ran")
    found = alone
    slow = sorted(found, key=lambda one: one.whole)[-max(1, len(found) // 100):]
    totals = [collections.Counter() for _ in HOPS]
    for one in slow:
        waited_for(one, runs, totals)
    print(f"{len(found)} hand-overs, us: p50 {percentile([o.whole for o in found], .5):.0f}, "
          f"p99 {percentile([o.whole for o in found], .99):.0f}")
    for i, hop in enumerate(HOPS):
        each = [one.hops[i] for one in found]
        ran = ", ".join(f"{name} {us / len(slow):.0f}" for name, us in totals[i].most_common(5))
        print(f"{hop:16} p50 {percentile(each, .5):4.0f} p99 {percentile(each, .99):5.0f}; of the "
              f"slowest percent the mean {statistics.mean(o.hops[i] for o in slow):.0f}"
              + (f", of which ran: {ran}" if ran else ""))
    for one in slow[-5:]:
        print(", ".join(f"{hop} {us:.0f}" for hop, us in zip(HOPS, one.hops)))


if __name__ == "__main__":
    main()
