/** Words in a key whose value is a secret. */
const secretWords = new Set([
  "apikey",
  "auth",
  "authorization",
  "bearer",
  "cookie",
  "credential",
  "credentials",
  "jwt",
  "key",
  "keys",
  "pass",
  "passphrase",
  "passwd",
  "password",
  "passwords",
  "private",
  "pwd",
  "secret",
  "secrets",
  "signature",
  "token",
  "tokens",
]);
/** Maps whose values are secret, whatever their keys. */
const secretMaps = new Set(["header", "headers", "metadata", "cookies"]);
/** `max_output_tokens` and its like count something. */
const countWords = new Set(["max", "min", "count", "limit", "budget", "context", "num"]);

/** `dbPassword`, `db_password`, `X-Db-Password`: the words of a key. */
function wordsOf(key: string): string[] {
  return key
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
}

function isSecret(key: string): boolean {
  const words = wordsOf(key);
  if (words.some((word) => secretMaps.has(word))) return true;
  return words.some((word) => secretWords.has(word)) && !words.some((word) => countWords.has(word));
}

/** A text that is nothing but a reference to an environment variable tells its name only. */
const onlyReference = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/;

/** What stands in the place of a secret; its length may show. */
function redacted(value: unknown): string {
  return `[redacted, ${String(value).length} characters]`;
}

function shownText(text: string): string {
  return text
    .replace(/\/\/[^/\s]*@/g, "//[redacted]@")
    .replace(/([?&])([^=&#\s]+)=([^&#\s]*)/g, (whole, mark: string, name: string, value: string) =>
      isSecret(name) && !onlyReference.test(value) ? `${mark}${name}=[redacted]` : whole,
    );
}

/**
 * A configuration as it may be stored and shown: whatever may be a secret that was written into it is left out, and a
 * variable stays the reference that it is (field-case-130).
 */
export function redact(value: unknown, secret = false): unknown {
  if (Array.isArray(value)) return value.map((entry) => redact(entry, secret));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [key, redact(entry, secret || isSecret(key))]),
    );
  }
  if (!secret || value === null || typeof value === "boolean") {
    return typeof value === "string" ? shownText(value) : value;
  }
  return typeof value === "string" && onlyReference.test(value) ? value : redacted(value);
}
