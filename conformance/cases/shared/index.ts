import { readCatalogue } from "../../catalogue/catalogue.js";
import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { admissionChecks } from "./admission.js";
import { blobChecks } from "./blobs.js";
import { closeChecks } from "./close.js";
import { closeDuringChecks } from "./close-during.js";
import { describeChecks } from "./describe.js";
import { drainChecks } from "./draining.js";
import { equalityChecks } from "./equality.js";
import { eventChecks } from "./events.js";
import { idChecks } from "./ids.js";
import { leaseChecks } from "./leases.js";
import { lostCallChecks } from "./lost-calls.js";
import { orderChecks } from "./order.js";
import { principalChecks } from "./principals.js";
import { refusalChecks } from "./refusals.js";
import { repeatChecks } from "./repeats.js";
import { secretChecks } from "./secrets.js";
import type { SharedSubject } from "./shared-subject.js";
import { sizeChecks } from "./sizes.js";

/** The rules R1 to R18, judged on a profile's operations and sessions. */
export function sharedChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const all = [
    ...repeatChecks(subject),
    ...orderChecks(subject),
    ...refusalChecks(subject),
    ...(subject.sessions === undefined
      ? []
      : [
          ...idChecks(subject),
          ...closeChecks(subject),
          ...leaseChecks(subject),
          ...admissionChecks(subject),
          ...drainChecks(subject),
          ...closeDuringChecks(subject),
        ]),
    ...describeChecks(subject),
    ...eventChecks(subject),
    ...lostCallChecks(subject),
    ...secretChecks(subject),
    ...principalChecks(subject),
    ...sizeChecks(subject),
    ...blobChecks(subject),
    ...equalityChecks(subject),
  ];
  // A rule may bind some services only: the letters in its comment say which.
  const { entries } = readCatalogue();
  return all.filter(({ clause, profile }) => entries.get(clause)?.profiles.includes(profile) ?? true);
}
