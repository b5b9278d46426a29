import { isAbsolute } from "node:path";

/** What the value of an entry's kind means: one of ours, a module, or a server that runs elsewhere. */
export type Chosen =
  | { readonly way: "ours"; readonly name: string }
  | { readonly way: "module"; readonly path: string }
  | { readonly way: "url"; readonly url: string };

/** Reads the value of `environment`, `agent`, `model`, `sandbox` or `episode`. */
export function choose(value: string): Chosen {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return { way: "url", url: value };
  if (value.startsWith(".") || isAbsolute(value) || /\.[mc]?[jt]s$/.test(value))
    return { way: "module", path: value };
  return { way: "ours", name: value };
}
