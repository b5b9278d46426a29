import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  CallEnd,
  CaptureLevel,
  type CloseGatewayRequestSchema,
  Feature,
  ModelDialect,
  type OpenGatewayRequest,
} from "../../../gen/index.js";
import { type ModelTrial, modelCheck } from "./model-trial.js";

const denied = { code: ["UNAUTHENTICATED", "PERMISSION_DENIED"], reason: ["CREDENTIALS", "PERMISSION"] };

async function capture(t: ModelTrial, gatewayId: string) {
  return t.judge.stream("ReadCapture", await t.calls.readCapture({ gatewayId }).finish());
}

/** GATEWAY, dialect touchstone.v1. */
export const gatewayChecks = [
  modelCheck(
    {
      clause: "MDL-GATE-001",
      name: "same-keys",
      title: "a repeat of OpenGateway answers the same accesses; other content conflicts.",
      sendsInvalid: true,
    },
    async (t) => {
      const { request, answer } = await t.openGateway();
      const again = t.judge.answer("the repeat", await t.elsewhere().openGateway(request));
      t.judge.equal("its accesses", again.accesses, answer.accesses);
      t.judge.refused(
        "other content",
        await t.calls.openGateway({ ...request, capture: CaptureLevel.SUMMARY }),
        { code: ["ALREADY_EXISTS"], reason: ["OPERATION_CONFLICT"] },
      );
    },
  ),
  modelCheck(
    {
      clause: "MDL-GATE-002",
      name: "access-per-dialect",
      title:
        "there is an access for each dialect asked for, with its base_url and its key, and it answers a call.",
    },
    async (t) => {
      const { dialects } = t.described;
      t.judge.that("dialects of Describe", dialects.includes(ModelDialect.TOUCHSTONE_V1), {
        expected: "TOUCHSTONE_V1 among them",
        actual: dialects.map((one) => ModelDialect[one]),
      });
      const { answer, key } = await t.openGateway({ dialects });
      t.judge.equal(
        "dialects of the accesses",
        answer.accesses.map(({ dialect }) => dialect).sort(),
        [...dialects].sort(),
      );
      t.judge.each("accesses", answer.accesses, ({ baseUrl, apiKey }) => {
        t.judge.differ("base_url", baseUrl, "");
        t.judge.differ("api_key", apiKey, "");
      });
      t.judge.answer("Generate with the key", await t.calls.generate(t.request(), t.withKey(key)));
    },
  ),
  modelCheck(
    {
      clause: "MDL-GATE-004",
      name: "every-call",
      title: "ReadCapture gives every call once, in order, a refused one and a cut one apart.",
    },
    async (t) => {
      const { request, key } = await t.openGateway();
      const ids: string[] = [];
      for (let call = 0; call < 3; call += 1) {
        ids.push(t.judge.answer(`call ${call}`, await t.calls.generate(t.request(), t.withKey(key))).callId);
      }
      const events = await capture(t, request.gatewayId);
      t.judge.equal(
        "captured calls",
        events.map(({ call }) => call?.callId),
        ids,
      );
      t.judge.each("events", events, ({ sequence, call }, index) => {
        t.judge.equal("sequence", sequence, BigInt(index + 1));
        t.judge.equal("end", call?.end, CallEnd.COMPLETED);
      });
    },
  ),
  modelCheck(
    {
      clause: "MDL-GATE-005",
      name: "after-close",
      title: "ReadCapture after CloseGateway gives what it gave before.",
    },
    async (t) => {
      const { request, key } = await t.openGateway();
      t.judge.answer("Generate", await t.calls.generate(t.request(), t.withKey(key)));
      const before = await capture(t, request.gatewayId);
      t.judge.that("captured calls", before.length > 0, { expected: "one", actual: before.length });
      t.judge.answer("CloseGateway", await t.calls.closeGateway(closing(request)));
      t.judge.equal("the capture afterwards", await capture(t, request.gatewayId), before);
    },
  ),
  modelCheck(
    {
      clause: "MDL-GATE-006",
      name: "dead-key",
      title: "CloseGateway counts the calls, and the key is dead afterwards.",
      sendsInvalid: true,
    },
    async (t) => {
      const { request, key } = await t.openGateway();
      for (let call = 0; call < 2; call += 1) {
        t.judge.answer(`call ${call}`, await t.calls.generate(t.request(), t.withKey(key)));
      }
      const closed = t.judge.answer("CloseGateway", await t.calls.closeGateway(closing(request)));
      t.judge.equal("calls", closed.calls, 2n);
      t.judge.refused(
        "Generate with the dead key",
        await t.calls.generate(t.request(), t.withKey(key)),
        denied,
      );
    },
  ),
  modelCheck(
    {
      clause: "MDL-GATE-007",
      name: "closed-twice",
      title: "CloseGateway again says already_closed, and of an unknown id never_opened.",
    },
    async (t) => {
      const { request } = await t.openGateway();
      const first = t.judge.answer("CloseGateway", await t.calls.closeGateway(closing(request)));
      t.judge.equal("already_closed of the first", first.receipt?.alreadyClosed, false);
      const second = t.judge.answer("CloseGateway again", await t.calls.closeGateway(closing(request)));
      t.judge.equal("already_closed of the second", second.receipt?.alreadyClosed, true);
      const never = t.judge.answer(
        "CloseGateway of an unknown id",
        await t.calls.closeGateway(closing(t.gatewayRequest())),
      );
      t.judge.equal("never_opened", never.receipt?.neverOpened, true);
    },
  ),
  modelCheck(
    {
      clause: "MDL-GATE-008",
      name: "apart",
      title: "two gateways have keys and captures of their own.",
    },
    async (t) => {
      const [one, two] = [await t.openGateway(), await t.openGateway()];
      t.judge.differ("the second key", two.key, one.key);
      t.judge.answer("Generate by one", await t.calls.generate(t.request(), t.withKey(one.key)));
      t.judge.equal("calls captured by one", (await capture(t, one.request.gatewayId)).length, 1);
      t.judge.equal("calls captured by two", (await capture(t, two.request.gatewayId)).length, 0);
      t.judge.answer("CloseGateway of one", await t.calls.closeGateway(closing(one.request)));
      t.judge.answer("Generate by two", await t.calls.generate(t.request(), t.withKey(two.key)));
    },
  ),
  modelCheck(
    {
      clause: "MDL-GATE-009",
      name: "lease",
      title: "a gateway that hears nothing for its lease ends: its key is dead.",
      lane: "waiting",
      within: 60,
      sendsInvalid: true,
    },
    async (t) => {
      const { answer, key } = await t.openGateway({ lease: { seconds: 1n } });
      const lease = Number(answer.lease?.duration?.seconds ?? 0n) * 1_000 + 1_000;
      await t.pause(lease);
      t.judge.refused("Generate with the dead key", await t.calls.generate(t.request(), t.withKey(key)), {
        code: [...denied.code, "FAILED_PRECONDITION"],
        reason: [...denied.reason, "SESSION_EXPIRED"],
      });
    },
  ),
  modelCheck(
    {
      clause: "MDL-GATE-010",
      name: "key-opens-no-more",
      title: "the key may not read the capture, close, keep alive or open gateways.",
      sendsInvalid: true,
    },
    async (t) => {
      const { request, key } = await t.openGateway();
      const { gatewayId } = request;
      const own = t.withKey(key);
      t.judge.answer("Generate with the key", await t.calls.generate(t.request(), own));
      t.judge.refused("ReadCapture", await t.calls.readCapture({ gatewayId }, own).finish(), denied);
      t.judge.refused("KeepAlive", await t.calls.keepAlive({ gatewayId }, own), denied);
      t.judge.refused("OpenGateway", await t.calls.openGateway(t.gatewayRequest(), own), denied);
      t.judge.refused("CloseGateway", await t.calls.closeGateway(closing(request), own), denied);
      t.judge.answer("Generate with the key afterwards", await t.calls.generate(t.request(), own));
    },
  ),
].map((check) => ({ ...check, features: [...check.features, Feature.GATEWAY] }));

function closing({
  gatewayId,
  context,
}: OpenGatewayRequest): MessageInitShape<typeof CloseGatewayRequestSchema> {
  return { gatewayId, ...(context?.episodeId === undefined ? {} : { episodeId: context.episodeId }) };
}
