import { Feature } from "../../../gen/index.js";
import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { perOperation, type SharedSubject } from "./shared-subject.js";

const unauthenticated = { code: ["UNAUTHENTICATED"], reason: ["CREDENTIALS"] };

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
}

/** R15, for every service: who may call at all. */
export function principalChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  return [
    subject.check(
      {
        clause: "ALL-PRIN-006",
        name: "describe",
        title:
          "Describe without a credential, or with a wrong one, is UNAUTHENTICATED; with the right one answered.",
        features: [Feature.PRINCIPALS],
        sendsInvalid: true,
        stacks: ["connect-node", "grpc-js"],
      },
      async (t) => {
        t.judge.refused("without a credential", await subject.describe(t, { bare: true }));
        for (const authorization of ["Bearer wrong", "Basic d3Jvbmc6d3Jvbmc=", "Bearer "]) {
          const headers = { authorization };
          t.judge.refused(`with ${authorization}`, await subject.describe(t, { bare: true, headers }));
        }
        t.judge.answer("with the right one", await subject.describe(t));
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-PRIN-006",
        name: "operation",
        title: "with a wrong credential it is UNAUTHENTICATED and not done; with the right one it is.",
        features: [Feature.PRINCIPALS],
        sendsInvalid: true,
      },
      async (t, kind) => {
        const asked = await kind.prepare(t);
        const headers = { authorization: "Bearer wrong" };
        t.judge.refused("with a wrong one", await asked.ask(asked.request, { headers }), unauthenticated);
        const end = await asked.ask();
        t.judge.equal("the status with the right one", end.status, undefined);
        const replay = await asked.ask(asked.request, { headers });
        t.judge.refused("a repeat with a wrong one", replay, unauthenticated);
      },
    ),
    subject.check(
      {
        clause: "ALL-PRIN-008",
        name: "off-loopback",
        title: "a server off loopback declares PRINCIPALS and refuses a call without a credential.",
        sendsInvalid: true,
      },
      async (t) => {
        if (isLoopback(t.target.url)) t.notApplicable("the subject is reached on loopback");
        const { service } = t.judge.answer("Describe", await subject.describe(t));
        t.judge.that("features", service?.features.includes(Feature.PRINCIPALS) === true, {
          expected: "PRINCIPALS among them",
          actual: service?.features.map((feature) => Feature[feature]),
        });
        t.judge.refused("without a credential", await subject.describe(t, { bare: true }), unauthenticated);
      },
    ),
  ];
}
