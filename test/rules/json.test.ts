import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import {
  type FailureKind,
  SeedRequestSchema,
  SeedResponseSchema,
  VerifyResultSchema,
} from "../../gen/index.js";
import * as fixture from "./fixture.js";

/** A Connect call as curl would make it. */
async function post(url: string, body: string, headers: Readonly<Record<string, string>> = {}) {
  return await fetch(`${url}/touchstone.v1.EnvironmentService/Seed`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
}

const request = (seed: bigint) =>
  toJsonString(SeedRequestSchema, create(SeedRequestSchema, { ...fixture.seedRequest(), seed }));

group("Connect with JSON on the same port", () => {
  it("keeps 64-bit integers exact and refuses what is none by name (field-case-008)", async () => {
    await using f = await fixture.startFixture();
    const answer = await post(f.server.url, request(9007199254740993n));
    expect(answer.status).toBe(200);
    const text = await answer.text();
    expect(text).toContain('"seed":"9007199254740993"');
    expect(fromJsonString(SeedResponseSchema, text).session?.seed).toBe(9007199254740993n);
    const fraction = await post(f.server.url, request(1n).replace('"seed":"1"', '"seed":1.5'));
    expect(fraction.status).toBe(400);
    expect(await fraction.text()).toContain("seed");
  });

  it("carries a refusal with its reason", async () => {
    await using f = await fixture.startFixture();
    const refused = await post(
      f.server.url,
      request(1n).replace('"environment":"gated"', '"environment":"other"'),
    );
    expect(await refused.json()).toMatchObject({ code: "failed_precondition" });
    expect(refused.headers.get("touchstone-instance")).toMatch(/^i-/);
  });

  it("does not let a web page in (field-case-134)", async () => {
    await using f = await fixture.startFixture();
    const foreign = await post(f.server.url, request(1n), { origin: "https://evil.example" });
    expect(foreign.status).toBe(403);
    expect(foreign.headers.get("access-control-allow-origin")).toBeNull();
    expect(f.controls.counts.seed).toBe(0);
  });

  it("tells a measured 0, a degraded score, a masked one and none apart (field-case-026)", () => {
    const told = [
      { outcome: { case: "verdict" as const, value: { reward: { value: 0 } } } },
      { outcome: { case: "verdict" as const, value: { reward: { value: 0.4 } } } },
      {
        outcome: {
          case: "verdict" as const,
          value: { reward: { value: 0.4 }, masked: { reason: "agent_failure" } },
        },
      },
      { outcome: { case: "failure" as const, value: { kind: 61 } } },
    ].map((result) => {
      const text = toJsonString(VerifyResultSchema, create(VerifyResultSchema, result));
      const { outcome } = fromJsonString(VerifyResultSchema, text);
      return outcome.case === "verdict"
        ? [outcome.value.reward?.value, outcome.value.masked?.reason]
        : outcome.case;
    });
    expect(told).toEqual([[0, undefined], [0.4, undefined], [0.4, "agent_failure"], "failure"]);
  });

  it("keeps numbers that it does not know, and never reads them as success (field-case-009)", () => {
    const unknown = create(VerifyResultSchema, {
      outcome: { case: "failure", value: { kind: 99 as FailureKind } },
    });
    const back = fromJsonString(VerifyResultSchema, toJsonString(VerifyResultSchema, unknown));
    expect(back.outcome).toMatchObject({ case: "failure", value: { kind: 99 } });
  });
});
