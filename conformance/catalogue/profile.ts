/** What a subject is certified for: one service of the contract with its shared clauses, or the wire below it. */
export type Profile = "environment" | "agent-session" | "model" | "sandbox" | "episode" | "transport";

/** All profiles. */
export const profiles: readonly Profile[] = [
  "environment",
  "agent-session",
  "model",
  "sandbox",
  "episode",
  "transport",
];

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
