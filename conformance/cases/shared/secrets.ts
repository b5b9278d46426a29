import type { Check } from "../../check/check.js";
import { searchable } from "../../check/searched.js";
import type { Trial } from "../../check/trial.js";
import { perOperation, type SharedSubject } from "./shared-subject.js";

/** R9: what a caller shows is told to nobody. */
export function secretChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  return perOperation(
    subject,
    {
      clause: "ALL-FAIL-008",
      name: "credential-untold",
      title: "a credential that a call carries is in no answer, refusal, header or trailer.",
      sendsInvalid: true,
    },
    async (t, kind) => {
      const secret = t.id("secret-credential");
      const headers = { authorization: `Bearer ${secret}` };
      const described = await subject.describe(t, { headers });
      const good = await kind.prepare(t);
      const bad = await kind.provoke(t, "invalid");
      const ends = [
        ["Describe", described],
        [kind.rpc, await good.ask(good.request, { headers })],
        [`a repeat of ${kind.rpc}`, await good.ask(good.request, { headers })],
        [`other content for ${kind.rpc}`, await good.ask(good.otherContent(), { headers })],
        [`a bad ${kind.rpc}`, await bad.ask(bad.request, { headers })],
      ] as const;
      t.judge.each("the ends", ends, ([what, end]) => {
        const all = searchable([end, [...end.headers], [...end.trailers]]);
        t.judge.that(what, !all.includes(secret), {
          expected: "not to hold the credential",
          actual: "it holds it",
        });
      });
    },
  );
}
