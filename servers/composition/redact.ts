import { isSecretName, wordsOf } from "./secret-name.js";
import { onlyReference, withoutSecrets } from "./secret-text.js";

/** Maps whose values are secret, whatever their keys. */
const secretMaps = new Set(["header", "headers", "metadata", "cookies"]);

function isSecretKey(key: string): boolean {
  return wordsOf(key).some((word) => secretMaps.has(word)) || isSecretName(key);
}

/** What stands in the place of a secret; its length may show. */
function redacted(value: unknown): string {
  return `[redacted, ${String(value).length} characters]`;
}

/**
 * A configuration as it may be stored and shown: whatever may be a secret that was written into it is left out, also
 * where it stands inside a text or a command line, and a variable stays the reference that it is (field-case-130).
 */
export function redact(value: unknown, secret = false): unknown {
  if (Array.isArray(value)) return redactList(value, secret);
  if (typeof value === "object" && value !== null) {
    const named = namesSecret(value);
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [
        key,
        redact(entry, secret || isSecretKey(key) || (named && key.toLowerCase() === "value")),
      ]),
    );
  }
  if (!secret || value === null || typeof value === "boolean") {
    return typeof value === "string" ? withoutSecrets(value) : value;
  }
  return typeof value === "string" && onlyReference.test(value) ? value : redacted(value);
}

/** `{ name: API_KEY, value: x }`, as lists of variables and headers have it. */
function namesSecret(entry: object): boolean {
  return Object.entries(entry).some(
    ([key, name]) => key.toLowerCase() === "name" && typeof name === "string" && isSecretName(name),
  );
}

/** A flag of a command line whose value is the next argument. */
const flag = /^--?([A-Za-z][\w.-]+)$/;
/** curl's flag for `user:password`. */
const userFlags = new Set(["-u", "--user", "--proxy-user"]);

/** A list may be a command line, whose flags name what follows them, or pairs of names and values. */
function redactList(list: readonly unknown[], secret: boolean): unknown[] {
  return list.map((entry, i) => {
    const before: unknown = list[i - 1];
    if (typeof entry === "string" && typeof before === "string") {
      const [, name = ""] = flag.exec(before) ?? [];
      if (isSecretName(name) && !entry.startsWith("--")) return redact(entry, true);
      if (userFlags.has(before) && entry.includes(":")) return redact(entry, true);
    }
    if (
      Array.isArray(entry) &&
      entry.length === 2 &&
      typeof entry[0] === "string" &&
      isSecretName(entry[0])
    ) {
      return [entry[0], redact(entry[1], true)];
    }
    return redact(entry, secret);
  });
}
