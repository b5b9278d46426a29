import { Health, HealthCheckResponse_ServingStatus } from "../../../gen/grpc/health/v1/health_pb.js";
import type { ServiceInfo } from "../../../gen/index.js";
import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { instanceHeader } from "../../subject/metadata.js";
import { milliseconds } from "./durations.js";
import type { SharedSubject } from "./shared-subject.js";

const retentionMs = 10 * 60_000;

/** R13 and R14: what Describe says is so. */
export function describeChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const { check } = subject;
  const serviceOf = async (t: T): Promise<ServiceInfo> => {
    const { service } = t.judge.answer("Describe", await subject.describe(t));
    t.judge.that("Describe.service", service !== undefined, { expected: "to be set", actual: "nothing" });
    if (service === undefined) throw new Error("a service that was judged to be there is not");
    return service;
  };
  return [
    check(
      {
        clause: "ALL-DESC-001",
        name: "complete",
        title: "Describe tells implementation, version, instance_id and retention, without a session.",
        stacks: ["connect-node", "grpc-js"],
      },
      async (t) => {
        const { implementation, instanceId, retention } = await serviceOf(t);
        for (const [what, value] of Object.entries({
          "implementation.name": implementation?.name,
          "implementation.version": implementation?.version,
          instance_id: instanceId,
        })) {
          t.judge.that(`service.${what}`, (value ?? "") !== "", { expected: "to be set", actual: value });
        }
        t.judge.that("service.retention", retention?.afterEnd !== undefined, {
          expected: "after_end to be set",
          actual: retention,
        });
      },
    ),
    check(
      {
        clause: "ALL-DESC-002",
        name: "same-each-time",
        title: "three calls over two connections are answered alike.",
      },
      async (t) => {
        const first = t.judge.answer("Describe", await subject.describe(t));
        const second = t.judge.answer("Describe again", await subject.describe(t));
        const third = t.judge.answer("Describe elsewhere", await subject.describe(t, { elsewhere: true }));
        t.judge.equal("the second answer", second, first);
        t.judge.equal("the third answer", third, first);
      },
    ),
    check(
      {
        clause: "ALL-DESC-004",
        name: "bounds",
        title: "bounds of leases, timeouts and sizes are set, above 0, and least <= default <= greatest.",
      },
      async (t) => {
        const { limits } = await serviceOf(t);
        t.judge.that("limits.max_message_bytes", (limits?.maxMessageBytes ?? 0n) > 0n, {
          expected: "above 0",
          actual: limits?.maxMessageBytes,
        });
        const bounded = {
          timeout: limits?.timeout,
          ...(subject.sessions === undefined ? {} : { lease: limits?.lease }),
        };
        for (const [what, bounds] of Object.entries(bounded)) {
          const [least = 0, usual = 0, greatest = 0] = [
            milliseconds(bounds?.minimum),
            milliseconds(bounds?.defaultValue),
            milliseconds(bounds?.maximum),
          ];
          t.judge.that(`limits.${what}`, least > 0 && least <= usual && usual <= greatest, {
            expected: "0 < minimum <= default_value <= maximum",
            actual: `${least}, ${usual}, ${greatest} ms`,
          });
        }
      },
    ),
    check(
      {
        clause: "ALL-DESC-013",
        name: "contract-version",
        title: "the contract version reads 1.N.",
      },
      async (t) => {
        const { contractVersion } = await serviceOf(t);
        t.judge.that("service.contract_version", /^1\.\d+$/.test(contractVersion), {
          expected: "1. and a number",
          actual: contractVersion,
        });
      },
    ),
    check(
      {
        clause: "ALL-KEEP-002",
        name: "retention-declared",
        title: "Describe declares that what has ended is kept for 10 minutes or more.",
      },
      async (t) => {
        const { retention } = await serviceOf(t);
        const kept = milliseconds(retention?.afterEnd) ?? 0;
        t.judge.that("service.retention.after_end", kept >= retentionMs, {
          expected: `${retentionMs} ms or more`,
          actual: `${kept} ms`,
        });
      },
    ),
    check(
      {
        clause: "ALL-SCOPE-001",
        name: "equals-describe",
        title: "header touchstone-instance is Describe's instance_id.",
        stacks: ["connect-node", "grpc-js"],
      },
      async (t) => {
        const reply = await subject.describe(t);
        const { service } = t.judge.answer("Describe", reply);
        t.judge.equal(`header ${instanceHeader}`, reply.headers.get(instanceHeader), service?.instanceId);
      },
    ),
    check(
      {
        clause: "ALL-DESC-010",
        name: "health",
        title: "grpc.health.v1 says SERVING.",
      },
      async (t) => {
        const { status } = t.judge.answer(
          "Health.Check",
          await t.connect().client(Health).check({ service: "" }),
        );
        t.judge.equal("status", status, HealthCheckResponse_ServingStatus.SERVING);
      },
    ),
  ];
}
