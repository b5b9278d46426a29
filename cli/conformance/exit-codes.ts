/** How `touchstone conformance` ends. */
export const conformanceExitCodes = {
  conformant: 0,
  notConformant: 1,
  /** Wrong options, a conformance.yaml that cannot be read, a pattern that chooses nothing. */
  usage: 2,
  /** Nothing can be said: the blocking cause is told. */
  incomplete: 3,
  /** The suite itself broke. */
  harnessError: 4,
} as const;
