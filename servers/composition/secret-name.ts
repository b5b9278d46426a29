/** Words in a name whose value is a secret. */
const secretWords = new Set([
  "apikey",
  "auth",
  "authorization",
  "bearer",
  "cookie",
  "credential",
  "credentials",
  "hmac",
  "jwt",
  "key",
  "keys",
  "otp",
  "pass",
  "passphrase",
  "passwd",
  "password",
  "passwords",
  "private",
  "pwd",
  "sas",
  "secret",
  "secrets",
  "sig",
  "signature",
  "token",
  "tokens",
]);

/** Words beside which those are harmless: `max_output_tokens` counts something, `eos_token` is one of a vocabulary. */
const harmlessWords = new Set([
  "max",
  "min",
  "count",
  "limit",
  "budget",
  "context",
  "num",
  "bos",
  "eos",
  "pad",
  "unk",
  "stop",
  "special",
  "public",
  "primary",
  "foreign",
]);

/** Words that stand for a password whatever is beside them. */
const passwordWords = new Set(["passphrase", "passwd", "password", "passwords", "pwd"]);

/** `dbPassword`, `db_password`, `X-Db-Password`: the words of a name. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

/** Whether the value of something with this name is a secret. */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name);
  return words.some((word) => secretWords.has(word)) && !words.some((word) => harmlessWords.has(word));
}

/** Whether a name can hardly be a word of a sentence: `password`, or a secret's name of several words (`api_key`). */
export function isPlainlySecretName(name: string): boolean {
  const words = wordsOf(name);
  return isSecretName(name) && (words.length > 1 || words.some((word) => passwordWords.has(word)));
}
