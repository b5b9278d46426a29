/** What a subject can be certified for: a service of the contract with its shared clauses, or the wire below it. */
export const profiles = ["environment", "agent-session", "model", "sandbox", "episode", "transport"] as const;

/** What a subject is certified for. */
export type Profile = (typeof profiles)[number];

/** Area of a profile's own clauses, the first part of their ids. */
export const areaOf: Readonly<Record<Profile, string>> = {
  environment: "ENV",
  "agent-session": "AGT",
  model: "MDL",
  sandbox: "SBX",
  episode: "EPI",
  transport: "TRN",
};

const letterOf: Readonly<Partial<Record<string, Profile>>> = {
  E: "environment",
  A: "agent-session",
  M: "model",
  S: "sandbox",
  P: "episode",
};

/** Profiles that a shared clause binds, from the letters in its comment; none: every service. */
export function profilesOf(letters: string): readonly Profile[] {
  return [...(letters === "" ? "EASMP" : letters)].flatMap((letter) => letterOf[letter] ?? []);
}
