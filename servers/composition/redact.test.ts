import { expect, it } from "vitest";
import { redact } from "./redact.js";

const secret = "S3CRET-canary";

it.each([
  { api_key: secret },
  { apiKey: secret },
  { "X-Api-Key": secret },
  { db_password: secret },
  { client_secret: secret },
  { passphrase: secret },
  { credential: secret },
  { credentials: { user: "u", pass: secret, nested: [secret] } },
  { authorization: `Bearer ${secret}` },
  { auth: secret },
  { access_token: secret },
  { session_cookie: secret },
  { private_key_pem: secret },
  { headers: { "x-anything": secret } },
  { extra_headers: { plain: [secret] } },
  { url: `https://user:${secret}@host/path` },
  { url: `postgres://u:a@${secret}@host/db` },
  { url: `https://host/path?api_key=${secret}&page=2` },
  { headers: { authorization: `Bearer \${TOKEN} ${secret}` } },
])("field-case-130: leaves the secret of %j out", (written) => {
  expect(JSON.stringify(redact(written))).not.toContain(secret);
});

it("hides a secret that is a number", () => {
  expect(redact({ password: 12345 })).toEqual({ password: "[redacted, 5 characters]" });
});

it("shows names, lengths and references to variables", () => {
  expect(
    redact({
      api_key: secret,
      token: `\${FAR_TOKEN}`,
      headers: { "x-a": `\${A}` },
      url: `https://u:p@host?key=\${KEY}`,
    }),
  ).toEqual({
    api_key: "[redacted, 13 characters]",
    token: `\${FAR_TOKEN}`,
    headers: { "x-a": `\${A}` },
    url: `https://[redacted]@host?key=\${KEY}`,
  });
});

it("keeps everything else", () => {
  const written = {
    budget: { max_output_tokens: 100, max_total_tokens: 5 },
    options: { context_tokens: 4096, model: "m", tokenizer: "t", monkey: "b" },
    capture: "tokens",
    verify: true,
    keyed: null,
    url: "http://127.0.0.1:7001/a@b",
  };
  expect(redact(written)).toEqual(written);
});
