import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { closeChecks } from "./close.js";
import { describeChecks } from "./describe.js";
import { eventChecks } from "./events.js";
import { idChecks } from "./ids.js";
import { leaseChecks } from "./leases.js";
import { lostCallChecks } from "./lost-calls.js";
import { orderChecks } from "./order.js";
import { refusalChecks } from "./refusals.js";
import { repeatChecks } from "./repeats.js";
import { secretChecks } from "./secrets.js";
import type { SharedSubject } from "./shared-subject.js";

/** The rules R1 to R18, judged on a profile's operations and sessions. */
export function sharedChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  return [
    ...repeatChecks(subject),
    ...orderChecks(subject),
    ...refusalChecks(subject),
    ...(subject.sessions === undefined
      ? []
      : [...idChecks(subject), ...closeChecks(subject), ...leaseChecks(subject)]),
    ...describeChecks(subject),
    ...eventChecks(subject),
    ...lostCallChecks(subject),
    ...secretChecks(subject),
  ];
}
