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

it.each([
  `Authorization: Bearer ${secret}`,
  `send Bearer ${secret} with it`,
  `curl -H "Authorization: Token ${secret}" https://host`,
  `curl -H 'X-Api-Key: ${secret}' https://host`,
  `Authorization: Digest username="a", response="${secret}"`,
  `Cookie: a=b; session=${secret}`,
  `basic ${Buffer.from(`user:${secret}`).toString("base64")}`,
  `run --token=${secret} --verbose`,
  `run --token ${secret} --verbose`,
  `run --api-key '${secret}'`,
  `run -password ${secret}`,
  `API_KEY=${secret} run`,
  `API_KEY="two words ${secret}" run`,
  `spring.datasource.password = ${secret}`,
  `Server=db;Password=a,${secret};Database=x`,
  `password: ${secret}`,
  `the api_key: ${secret}, then`,
  `token: ${secret}`,
  `{"api_key": "${secret}"}`,
  `{\\"apiKey\\":\\"${secret}\\"}`,
  `{'client_secret': '${secret}'}`,
  `https://store.example/box?sv=1&sig=${secret}&se=2`,
  `https://store.example/box?X-Amz-Signature=${secret}`,
  `https://host/cb#access_token=${secret}`,
  `https://user:a/${secret}@host/path`,
  `user:${secret}@tcp(db:3306)/x`,
  `curl -u user:${secret} https://host`,
  `sk-${secret}`,
  `use sk_live_${secret}.`,
  `ghp_16C7e42F292c6912E7${secret}`,
  `github_pat_11ABCDEFG0123456789_${secret}`,
  `hf_abcdefghijklmnop-${secret}`,
  `xoxb-1234567890-${secret}`,
  `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${secret}`,
  `https://hooks.chat.example/services/T1/B1/${secret}`,
  `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----`,
  `-----BEGIN OPENSSH PRIVATE KEY-----\n${secret}`,
  `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\n\n${secret}\n-----END RSA PRIVATE KEY-----`,
])("field-case-130: leaves the secret inside the text %j out", (text) => {
  for (const written of [text, { options: { prompt: `Begin.\n${text}\nEnd.` } }, { args: ["run", text] }]) {
    expect(JSON.stringify(redact(written))).not.toMatch(new RegExp(`${secret}|VTNDUkVUL`));
  }
});

it.each([
  { key: "AKIAIOSFODNN7EXAMPLE" },
  { args: ["a", "AKIAIOSFODNN7EXAMPLE"] },
  { text: "id AKIAIOSFODNN7EXAMPLE and" },
])("hides the id of a cloud's key in %j", (written) => {
  expect(JSON.stringify(redact(written))).not.toContain("AKIAIOSFODNN7EXAMPLE");
});

it.each([
  { command: ["run", "--token", secret, "--n", "3"] },
  { command: ["run", `--token=${secret}`] },
  { command: ["curl", "-u", `me:${secret}`] },
  { command: ["curl", "-H", `Authorization: Bearer ${secret}`] },
  { env: [{ name: "API_KEY", value: secret }] },
  { query: [["sig", secret]] },
])("leaves the secret of a command line or a list out: %j", (written) => {
  expect(JSON.stringify(redact(written))).not.toContain(secret);
});

it("keeps what stands around a secret in a text", () => {
  expect(
    redact([
      `run --token=${secret} --n 3`,
      `see https://h/x?sig=${secret}&page=2 and go on`,
      `{"api_key": "${secret}", "model": "m"}`,
      `Server=db;Password=${secret};Database=x`,
      `postgres://me:${secret}@db.example/x`,
      `Authorization: Bearer \${TOKEN}`,
      `--api-key=\${API_KEY} --n 3`,
    ]),
  ).toEqual([
    "run --token=[redacted] --n 3",
    "see https://h/x?sig=[redacted]&page=2 and go on",
    '{"api_key": "[redacted]", "model": "m"}',
    "Server=db;Password=[redacted];Database=x",
    "postgres://[redacted]@db.example/x",
    `Authorization: Bearer \${TOKEN}`,
    `--api-key=\${API_KEY} --n 3`,
  ]);
});

it.each([
  "You may use at most 5 tokens: think, then answer. The key: patience.",
  "The bearer of this letter, a bearer token, basic training and the secret: be kind.",
  "python:3.12@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
  "mailto:joe@example.org, git@host.example:team/x.git, npm:left-pad@1.0.0",
  "sk-learn-contrib and task-oriented-work and desk-tops",
  "--max-tokens 100 --max_output_tokens=5 --tokenizer t eos_token=</s>",
  "http://127.0.0.1:7001/a@b?split=test&page=2",
  "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
  "f(key) returns keys; password-less login; token by token",
  "sha256:3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
  "monkey=banana keyboard: qwerty2000 passage: 123456",
])("keeps innocent text: %j", (text) => {
  expect(redact({ instructions: text, list: [text] })).toEqual({ instructions: text, list: [text] });
});
