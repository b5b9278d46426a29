import type { SelfTime } from "./cpu-profile.js";

/** Whose code a function is, by its file. */
const parts: readonly (readonly [RegExp, string])[] = [
  [/\/node_modules\/((?:@[^/]+\/)?[^/]+)\//, "$1"],
  [/^node:(?:internal\/)?http2/, "node:http2"],
  [/^node:(?:internal\/)?(?:streams|stream_base|js_stream)|^node:(?:net|stream)/, "node:stream and node:net"],
  [/^node:(?:internal\/)?timers/, "node:timers"],
  [/^node:(?:internal\/)?(?:event|abort)/, "node:events"],
  [/^node:/, "node, other"],
  [/\/servers\/runtime\/grpc\//, "servers/runtime/grpc"],
  [/\/servers\/runtime\/port\//, "servers/runtime/port"],
  [/\/(servers\/[a-z-]+)\//, "$1"],
  [/\/clients\/channel\//, "clients/channel"],
  [/\/clients\//, "clients"],
  [/\/gen\//, "gen"],
  [/\/bench\//, "bench"],
];

/** The part that a function belongs to: a package, a folder of ours, a module of Node, or the machine below. */
export function partOf({ name, url }: Pick<SelfTime, "name" | "url">): string {
  if (name === "(garbage collector)") return "garbage collector";
  if (name === "(program)") return "native code and system calls";
  if (url === "") return "native functions";
  for (const [pattern, part] of parts) {
    const match = pattern.exec(url);
    if (match !== null) return part.replace("$1", match[1] ?? "");
  }
  return url;
}

/** The file of a function, below the repository or its package. */
export function fileOf({ url }: Pick<SelfTime, "url">): string {
  const path = url.replace(/^file:\/\//, "");
  const [, inPackage] = /\/node_modules\/(?!.*\/node_modules\/)(.*)$/.exec(path) ?? [];
  const [, own] = /\/((?:servers|clients|gen|bench|rollouts)\/.*)$/.exec(path) ?? [];
  return inPackage ?? own ?? path;
}
