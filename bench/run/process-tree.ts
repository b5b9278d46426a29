import { readdirSync, readFileSync } from "node:fs";

/** The text of a file in /proc; empty for a process or thread that has just ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function threads(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** A process and all that it has started. */
function tree(pid: number): readonly number[] {
  const children = threads(pid).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(tree)];
}

/** Microseconds of CPU that a process, its threads and its children have used; undefined where it is gone. */
export function cpuMicroseconds(pid: number): number | undefined {
  let sum: number | undefined;
  for (const one of tree(pid)) {
    for (const thread of threads(one)) {
      const [nanoseconds = ""] = read(`/proc/${one}/task/${thread}/schedstat`).split(" ");
      if (nanoseconds !== "") sum = (sum ?? 0) + Number(nanoseconds) / 1000;
    }
  }
  return sum;
}

/** Kilobytes that a process and its children have resident. */
export function residentKilobytes(pid: number): number {
  return tree(pid)
    .map((one) => Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${one}/status`))?.[1] ?? 0))
    .reduce((sum, kilobytes) => sum + kilobytes, 0);
}

/** Linux counts /proc/stat in hundredths of a second. */
const tickMicroseconds = 10_000;

/** Microseconds that all cores together have been busy since the machine started. */
export function busyMicroseconds(): number {
  const [line = ""] = read("/proc/stat").split("\n");
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softIrq) * tickMicroseconds;
}
