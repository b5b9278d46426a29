import { Health, HealthCheckResponse_ServingStatus } from "../../../gen/grpc/health/v1/health_pb.js";
import { FailureKind, Feature } from "../../../gen/index.js";
import type { Check, CheckInit } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { OperationEnd } from "./operation-kind.js";
import { type SharedSubject, sessionsOf } from "./shared-subject.js";

/** Looks for a change after a signal, and milliseconds between them: five seconds in all. */
const looks = 100;
const lookMs = 50;
/** Seconds within which a process that holds nothing any more has ended. */
const endSeconds = 10;

/** R18 and what else a process of its own shows. */
export function drainChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const check = (init: Omit<CheckInit, "lane">, run: (t: T) => Promise<void>): Check<T> =>
    subject.check({ within: 60, ...init, lane: "process" }, run);
  const kind = sessionsOf(subject);
  const health = async (t: T) => (await t.connect().client(Health).check({ service: "" })).message?.status;
  const isDraining = async (t: T): Promise<boolean> =>
    (await subject.describe(t, { elsewhere: true })).message?.service?.draining === true;
  /** Asks it to end, and waits until it shows that it heard. */
  const drain = async (t: T): Promise<void> => {
    t.process().signal("SIGTERM");
    for (let look = 0; look < looks; look += 1) {
      if ((await isDraining(t)) || (await health(t)) === HealthCheckResponse_ServingStatus.NOT_SERVING)
        return;
      await t.pause(lookMs);
    }
    t.judge.that("Describe and health after SIGTERM", false, {
      expected: "draining, or NOT_SERVING",
      actual: "as before, for five seconds",
    });
  };
  return [
    check(
      {
        clause: "ALL-DRAIN-001",
        name: "nothing-new",
        title: "after SIGTERM health is NOT_SERVING and a new session is refused DRAINING.",
      },
      async (t) => {
        const held = await kind.open(t);
        t.judge.equal("health before", await health(t), HealthCheckResponse_ServingStatus.SERVING);
        await drain(t);
        t.judge.equal("health", await health(t), HealthCheckResponse_ServingStatus.NOT_SERVING);
        const { created } = kind.unopened(t, t.id("late"));
        const { retryMs } = t.judge.refused("a new session", await created.ask());
        t.judge.that("RetryInfo", retryMs !== undefined, { expected: "to be there", actual: "none" });
        await held.close();
      },
    ),
    ...subject.operations
      .filter((operation) => !operation.creating)
      .map((operation) =>
        check(
          {
            clause: "ALL-DRAIN-002",
            name: `held-${operation.rpc.toLowerCase()}`,
            title: `${operation.rpc}: a held session is served while draining, to its Close.`,
            features: operation.features,
          },
          async (t) => {
            const asked = await operation.prepare(t);
            await drain(t);
            t.judge.equal(`the status of ${operation.rpc}`, (await asked.ask()).status, undefined);
            t.judge.answer("Close", await asked.close());
          },
        ),
      ),
    check(
      {
        clause: "ALL-DRAIN-003",
        name: "ends-after-last",
        title: "after the last session's Close the process ends and leaves no child.",
      },
      async (t) => {
        const [first, last] = [await kind.open(t), await kind.open(t)];
        await drain(t);
        t.judge.answer("Close of the first", await first.close());
        t.judge.answer("KeepAlive of the last", await last.keepAlive());
        t.judge.answer("Close of the last", await last.close());
        await t.within("the end of its process group", endSeconds, t.process().gone);
      },
    ),
    check(
      {
        clause: "ALL-DRAIN-004",
        name: "new-connections",
        title: "while draining a held session is served over a new connection.",
      },
      async (t) => {
        const held = await kind.open(t);
        await drain(t);
        t.judge.answer("KeepAlive over a new connection", await held.keepAlive({ elsewhere: true }));
        t.judge.answer("Close over another", await held.close({ elsewhere: true }));
      },
    ),
    ...subject.operations
      .filter((operation) => !operation.creating)
      .map((operation) =>
        check(
          {
            clause: "ALL-DRAIN-005",
            name: `drain-timeout-${operation.rpc.toLowerCase()}`,
            title: `at the drain timeout a ${operation.rpc} that runs is ended as CANCELLED, and the process ends.`,
            features: operation.features,
          },
          async (t) => {
            const hang = await operation.provoke(t, "hang");
            const running: Promise<OperationEnd> = hang.ask();
            await t.pause(50);
            await drain(t);
            // How long that takes is the subject's own: the watchdog alone bounds it.
            const end = await running;
            t.judge.that("its end", end.failure !== undefined, {
              expected: "a recorded failure",
              actual: end.status ?? end.answer,
            });
            t.judge.equal("the kind of the failure", end.failure?.kind, FailureKind.CANCELLED);
            await t.within("the end of its process group", endSeconds, t.process().gone);
          },
        ),
      ),
    check(
      {
        clause: "ALL-DRAIN-006",
        name: "told",
        title: "Describe says draining after SIGTERM, and not before.",
      },
      async (t) => {
        const held = await kind.open(t);
        t.judge.equal("draining before", await isDraining(t), false);
        await drain(t);
        t.judge.equal("draining", await isDraining(t), true);
        await held.close();
      },
    ),
    check(
      {
        clause: "ALL-DESC-003",
        name: "restarted",
        title: "a server that was killed and forgot its sessions has another instance_id.",
      },
      async (t) => {
        const before = t.judge.answer("Describe", await subject.describe(t)).service;
        if (before?.features.includes(Feature.DURABLE) === true) t.notApplicable("it keeps its records");
        await kind.open(t);
        await t.process().restart();
        const after = t.judge.answer("Describe", await subject.describe(t, { elsewhere: true })).service;
        t.judge.differ("instance_id", after?.instanceId, before?.instanceId);
      },
    ),
    ...subject.operations.map((operation) =>
      check(
        {
          clause: "ALL-SCOPE-002",
          name: `outlives-${operation.rpc.toLowerCase()}`,
          title: `${operation.rpc}: killed and started again it has its instance_id, and replays what it recorded.`,
          features: operation.features,
        },
        async (t) => {
          const before = t.judge.answer("Describe", await subject.describe(t)).service;
          const asked = await operation.prepare(t);
          const first = await asked.ask();
          t.judge.equal("its status", first.status, undefined);
          await t.process().restart();
          const after = t.judge.answer("Describe", await subject.describe(t, { elsewhere: true })).service;
          t.judge.equal("instance_id", after?.instanceId, before?.instanceId);
          const again = await asked.ask(asked.request, { elsewhere: true });
          t.judge.equal("the answer of the repeat", again.answer, first.answer);
        },
      ),
    ),
  ];
}
