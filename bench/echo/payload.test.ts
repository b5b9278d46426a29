import { describe, expect, it } from "vitest";
import { stepBytes, stepStreamBytes } from "../world/step-messages.js";
import { stepMessages, stepStreamMessages } from "./contract-messages.js";
import { flatMessages } from "./flat-messages.js";
import { jsonPayloads } from "./json-payload.js";
import { payloads } from "./payload.js";

const bytes = stepBytes();

describe("messages of the echoes", () => {
  it("are as large as Step's", () => {
    const raw = payloads(bytes);
    expect(raw.request(500).length).toBe(bytes.request);
    expect(raw.reply(raw.request(500)).length).toBe(bytes.response);
    const flat = flatMessages(bytes);
    expect(flat.encodeRequest(flat.request(500)).length).toBe(bytes.request);
    expect(flat.encodeReply(flat.reply(flat.request(500))).length).toBe(bytes.response);
    const json = jsonPayloads(bytes);
    expect(Buffer.byteLength(json.request(500))).toBe(bytes.request);
    expect(Buffer.byteLength(json.reply(json.request(500)))).toBe(bytes.response);
    expect(stepMessages.encodeRequest(stepMessages.request(500)).length).toBe(bytes.request);
    const frames = stepStreamBytes();
    const { encodeReply, reply, request } = stepStreamMessages;
    expect(encodeReply(reply(request(500))).length).toBe(frames.response);
  });

  it("of another step, or cut, are found out", () => {
    const raw = payloads(bytes);
    const reply = raw.reply(raw.request(7));
    expect(() => raw.check(reply, 7)).not.toThrow();
    expect(() => raw.check(reply, 8)).toThrow("step 8");
    expect(() => raw.check(reply.subarray(0, -1), 7)).toThrow("step 7");
    const json = jsonPayloads(bytes);
    expect(() => json.check(json.reply(json.request(7)), 8)).toThrow("step 8");
    expect(() => stepMessages.check(stepMessages.reply(stepMessages.request(7)), 8)).toThrow("step 8");
  });
});
