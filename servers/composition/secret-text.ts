import { isPlainlySecretName, isSecretName } from "./secret-name.js";

/** What stands in the place of a secret inside a text. */
const hidden = "[redacted]";

/** A text that is nothing but references to environment variables tells their names only. */
export const onlyReference = /^(?:\$\{[A-Za-z_][A-Za-z0-9_]*\})+$/;

/** Shapes that the issuers of credentials give them, so that such text can be found anywhere. */
const issued = [
  // OpenAI, Anthropic, Stripe and their like; a word such as sk-learn has neither digit nor capital.
  String.raw`\b[srp]k[-_](?=[\w-]{0,200}[A-Z0-9])[\w-]{8,}`,
  String.raw`\b(?:gh[pousr]|github_pat|glpat|hf|npm|pypi|gsk|r8|nvapi|dckr_pat|dop_v1|shpat|whsec|lin_api|tskey)[-_][\w-]{16,}`,
  String.raw`\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}\b`,
  String.raw`\b(?:xox[a-z]|xapp)-[\w-]{10,}`,
  String.raw`\bAIza[\w-]{30,}`,
  String.raw`\bya29\.[\w-]{20,}`,
  String.raw`\bSG\.[\w-]{16,}\.[\w-]{16,}`,
  String.raw`\bAGE-SECRET-KEY-1[A-Z0-9]{20,}`,
  // JSON web tokens.
  String.raw`\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*`,
  // A chat bot's token.
  String.raw`\b\d{8,10}:[\w-]{35}\b`,
] as const;
const issuedCredential = new RegExp(issued.join("|"), "g");

const privateKey =
  /-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----[\s\S]*?(?:-----END \1-----|$)|\bPuTTY-User-Key-File[\s\S]*$/g;
/** What a webhook's address ends with is all that it needs. */
const webhook = /(\bhooks\.[\w.-]+\/(?:services|workflows)\/|\/api\/webhooks\/)[\w/-]+/g;
/** `scheme://user:password@`. A password may hold slashes; a number before the first slash is a port. */
const userInUrl = /\/\/(?:[^/\s"'`]{0,1000}@|[^/\s"'`:@]{1,1000}:(?!\d+\/)[^\s"'`@]{0,1000}@)/g;
/** `user:password@host` without a scheme, as some drivers have it; never a digest, a version or an e-mail address. */
const userAtHost =
  /(?<![\w/.:-])(?!(?:mailto|npm|acct|sips?|xmpp|file):)([A-Za-z][\w.-]*):(?!\d+(?:\.\d+)*@)[^\s"'`@:/]+@(?=[\w(])(?!sha\d+:|\d+\.)/g;
const credentialHeader = String.raw`((?:proxy-)?authorization|(?:set-)?cookie)(\s*:\s*)`;
/** The whole value of a header that bears credentials: in quotes, to their end. */
const quotedHeader = new RegExp(String.raw`(?<=(["\'\x60]))${credentialHeader}((?:(?!\1)[^\r\n])+)`, "gi");
/** At the beginning of a line, or behind curl's -H, to the line's end. */
const lineHeader = new RegExp(String.raw`(^|-H\s*)${credentialHeader}([^\r\n]+)`, "gim");
/** `Bearer x` anywhere; words that speak of such a thing are none. */
const bearer =
  /\b(bearer\s+)(?!(?:tokens?|of|auth|authenticat\w+|authoriz\w+|schemes?|headers?|credentials?)\b)((?:\$\{[^}]*\}|[\w.~+/=-])+)/gi;
/** `Basic x`, where x is base64 of a name and a password. */
const basic = /\b(basic\s+)([A-Za-z0-9+/]{4,}={0,2})(?![\w+/=])/gi;
/** curl's `-u user:password`. */
const userFlag = /(?<!\S)(-u|--user|--proxy-user)([\s=]+["'`]?)([^\s"'`:]+):[^\s"'`]+/g;

/** `name=`, `name: `, `"name": `, `--name `: what may stand before a value. */
const named = /(?<![\w.-])(--?)?([A-Za-z_][\w.-]*)(\\*["'`]?)(\s*=\s*|\s*:\s*|[ \t]+)/g;
/** The value behind a name: in quotes, or to where something else begins. */
const valueThere =
  /(\\*)(["'`])([\s\S]*?)(?:\1\2|$)|((?:\$\{[^}]*\}|(?![;,&]\s*[\w.-]+\s*[=:]|[;,)\]}]+(?:\s|$))[^\s"'`])+)/y;
/** What is no secret whatever its name. */
const harmlessValue = /^(?:|true|false|null|none|undefined|yes|no|\[redacted\b.*)$/i;

/** A configuration's text without the secrets that may stand in it; all else, and references to variables, stay. */
export function withoutSecrets(text: string): string {
  const rest = text
    .replace(privateKey, hidden)
    .replace(webhook, `$1${hidden}`)
    .replace(userInUrl, `//${hidden}@`)
    .replace(userAtHost, `$1:${hidden}@`)
    .replace(quotedHeader, (whole, _quote: string, name: string, mark: string, value: string) =>
      bearsReference(value) ? whole : `${name}${mark}${hidden}`,
    )
    .replace(lineHeader, (whole, before: string, name: string, mark: string, value: string) =>
      bearsReference(value) ? whole : `${before}${name}${mark}${hidden}`,
    )
    .replace(bearer, (whole, scheme: string, token: string) =>
      onlyReference.test(token) ? whole : `${scheme}${hidden}`,
    )
    .replace(basic, (whole, scheme: string, token: string) =>
      Buffer.from(token, "base64").includes(":") ? `${scheme}${hidden}` : whole,
    )
    .replace(
      userFlag,
      (_whole, flag: string, mark: string, user: string) => `${flag}${mark}${user}:${hidden}`,
    );
  return withoutNamedSecrets(rest).replace(issuedCredential, hidden);
}

/** `Bearer ${TOKEN}`: a scheme and the name of a variable. */
function bearsReference(value: string): boolean {
  return onlyReference.test(value.replace(/^\w+\s+/, "").trim());
}

/** Hides the values that stand behind names of secrets. */
function withoutNamedSecrets(text: string): string {
  let shown = "";
  let from = 0;
  for (const { 0: whole, 1: dashes = "", 2: name = "", 3: quote = "", 4: mark = "", index } of text.matchAll(
    named,
  )) {
    if (index < from || !isSecretName(name)) continue;
    const start = index + whole.length;
    valueThere.lastIndex = start;
    const {
      0: found = "",
      1: slashes = "",
      2: opening = "",
      3: quoted,
      4: bare = "",
    } = valueThere.exec(text) ?? [];
    const value = quoted ?? bare;
    if (harmlessValue.test(value) || onlyReference.test(value)) continue;
    if (!isValueOf(name, value, { mark, flag: dashes !== "", quoted: quote !== "" || quoted !== undefined }))
      continue;
    shown += `${text.slice(from, start)}${slashes}${opening}${hidden}${quoted === undefined ? "" : found.slice(slashes.length + opening.length + quoted.length)}`;
    from = start + found.length;
  }
  return shown + text.slice(from);
}

/** Whether what stands behind a secret's name is its value, and not how a sentence goes on. */
function isValueOf(
  name: string,
  value: string,
  { mark, flag, quoted }: { readonly mark: string; readonly flag: boolean; readonly quoted: boolean },
): boolean {
  if (mark.includes("=")) return true;
  if (mark.includes(":")) return flag || quoted || isPlainlySecretName(name) || looksSecret(value);
  // `--token x`; a sentence has no such dashes, and another flag is no value.
  return flag && !value.startsWith("--");
}

/** Shortest value behind a word such as `key:` that is taken for a secret, in characters. */
const shortestSecret = 6;

function looksSecret(value: string): boolean {
  return value.length >= shortestSecret && /\d/.test(value);
}
