import { describe, expect, it } from "vitest";
import { Feature, ModelDialect } from "../../gen/index.js";
import { answering, GatedModel, saying } from "./fixtures/gated-model.js";
import { method, ServedModel } from "./fixtures/served-model.js";

describe("Describe", () => {
  it("tells model, weights, context and features (MDL-DESC-001)", async () => {
    await using served = await ServedModel.start(new GatedModel().definition);
    const { message } = await served.client.unary(method.describe, {});
    expect(message).toMatchObject({
      model: "gated-1",
      weightsVersion: "7",
      contextTokens: 4096n,
      maxChoices: 4,
      dialects: [ModelDialect.TOUCHSTONE_V1],
      service: { features: [Feature.GATEWAY, Feature.TOKEN_IDS, Feature.LOGPROBS] },
    });
    await using plain = await ServedModel.start(answering(() => saying("x"), { tokens: undefined as never }));
    const described = await plain.client.unary(method.describe, {});
    expect(described.message?.service?.features).toEqual([Feature.GATEWAY]);
    expect(described.message?.maxOutputTokens).toBeUndefined();
  });
});
