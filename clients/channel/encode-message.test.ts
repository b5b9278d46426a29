import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  type Message,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import * as gen from "../../gen/index.js";
import { encodedBytes, encodeMessage } from "./encode-message.js";

const schemas = Object.values<object>(gen).filter(
  (one): one is DescMessage => "kind" in one && one.kind === "message",
);

/** Numbers that are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
type Draw = ReturnType<typeof numbers>;

const texts = [
  "",
  "a",
  "grüße, Welt",
  "x".repeat(127),
  "y".repeat(128),
  "\u{1f600}".repeat(50),
  "z".repeat(20_000),
  "\0",
];
const integers = [0, 1, 127, 128, 16_384, 0x7fffffff, -1, -0x80000000];

function scalar(type: ScalarType, draw: Draw): unknown {
  const integer = integers[draw(integers.length)] ?? 0;
  switch (type) {
    case ScalarType.STRING:
      return texts[draw(texts.length)];
    case ScalarType.BYTES:
      return new Uint8Array(draw(3) * 150).fill(7);
    case ScalarType.BOOL:
      return draw(2) === 0;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return [0, -0, 1.5, -2, Number.NaN, Number.POSITIVE_INFINITY][draw(6)];
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return integer >>> 0;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return [BigInt(integer), -(2n ** 63n), 2n ** 63n - 1n, 2n ** 31n][draw(4)];
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return [BigInt(integer >>> 0), 2n ** 64n - 1n, 2n ** 31n][draw(3)];
    default:
      return integer;
  }
}

function value(field: DescField, draw: Draw, depth: number): unknown {
  if (field.message !== undefined) return filled(field.message, draw, depth + 1);
  if (field.enum !== undefined) return field.enum.values[draw(field.enum.values.length)]?.number;
  return scalar(field.scalar ?? ScalarType.STRING, draw);
}

/** A message with about half of its fields set to something. */
function filled(schema: DescMessage, draw: Draw, depth = 0): Message {
  const message = create(schema) as Message & Record<string, unknown>;
  // What has a form of its own in protobuf-es is left out: it would not be a message here.
  if (schema.typeName.startsWith("google.protobuf.") && !/Duration|Timestamp|Any/.test(schema.typeName))
    return message;
  for (const field of schema.fields) {
    if (depth > 3 || draw(2) === 0) continue;
    if (field.message?.typeName.match(/^google\.protobuf\.(Struct|.*Value)$/)) continue;
    switch (field.fieldKind) {
      case "map":
        message[field.localName] =
          field.mapKind === "scalar" && field.mapKey === ScalarType.STRING && draw(4) === 0
            ? { a: scalar(field.scalar, draw) }
            : {};
        break;
      case "list":
        message[field.localName] = Array.from({ length: draw(4) }, () => value(field, draw, depth));
        break;
      default:
        if (field.oneof === undefined) message[field.localName] = value(field, draw, depth);
        else message[field.oneof.localName] = { case: field.localName, value: value(field, draw, depth) };
    }
  }
  return message;
}

describe("encodeMessage", () => {
  it("gives the bytes of protobuf-es, for messages of every type of the contract", () => {
    expect(schemas.length).toBeGreaterThan(100);
    const draw = numbers(20);
    for (const schema of schemas) {
      for (let i = 0; i < 20; i += 1) {
        const message = filled(schema, draw);
        const expected = toBinary(schema, message);
        const found = encodeMessage(schema, message);
        if (Buffer.compare(found, expected) !== 0) {
          expect(fromBinary(schema, found), schema.typeName).toEqual(message);
        }
        expect(Buffer.compare(found, expected), schema.typeName).toBe(0);
        expect(encodedBytes(schema, message), schema.typeName).toBe(expected.length);
      }
    }
  });

  it("keeps unknown fields, replaces lone surrogates, and grows with what it writes", () => {
    const { BlockSchema, StepRequestSchema } = gen;
    const unknown = fromBinary(StepRequestSchema, Uint8Array.of(0xfa, 0x7f, 1, 1));
    const long = create(BlockSchema, { kind: { case: "text", value: "é".repeat(3_000_000) } });
    const lone = create(BlockSchema, { kind: { case: "text", value: "a\ud800b" } });
    const both = (schema: DescMessage, message: Message): void => {
      expect(Buffer.compare(encodeMessage(schema, message), toBinary(schema, message))).toBe(0);
    };
    both(StepRequestSchema, unknown);
    both(BlockSchema, long);
    both(BlockSchema, lone);
  });

  it.each([
    { sessionId: 7 },
    { sessionId: null },
    { name: { case: "stepIndex", value: 2 ** 32 } },
    { name: { case: "stepIndex", value: 0.5 } },
    { timeout: { $typeName: "google.protobuf.Duration", seconds: 0n, nanos: -0 } },
    { actions: [{ agentId: "a" }] },
  ])("throws what protobuf-es throws for wrong message %#, and then goes on", (wrong) => {
    const { StepRequestSchema } = gen;
    const message = { ...create(StepRequestSchema), ...wrong } as never;
    const thrown = (encode: typeof toBinary | typeof encodeMessage): string => {
      try {
        return Buffer.from(encode(StepRequestSchema, message)).toString("hex");
      } catch (error) {
        return String(error);
      }
    };
    expect(thrown(encodeMessage)).toBe(thrown(toBinary));
    expect(encodeMessage(StepRequestSchema, create(StepRequestSchema)).length).toBe(0);
  });
});
