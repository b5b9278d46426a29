import { clone } from "@bufbuild/protobuf";
import {
  type Action,
  ActionKind,
  ActionSchema,
  ElementType,
  Feature,
  type Task,
  TaskSchema,
  type Tensor,
  type TensorSpec,
} from "../../../gen/index.js";
import { type EnvironmentTrial, environmentCheck } from "./environment-trial.js";
import { firstActions } from "./known-actions.js";

const conflict = { code: ["ALREADY_EXISTS"], reason: ["OPERATION_CONFLICT"] };

const sampleTask = (t: EnvironmentTrial): Task => t.must(t.fixture.sample.task, "environment.sample.task");

/** The same JSON with blanks where they mean nothing: another text. */
const respaced = (json: string): string => ` ${json.replace(/^\s*([{[])/, "$1 ")}\n`;

const hasPublicJson = (t: EnvironmentTrial): Task => {
  const task = sampleTask(t);
  if (task.publicJson === "") t.notApplicable("the sample's task has no public_json");
  return task;
};

/** The first good action with blanks in its arguments; a world without tool calls has none. */
function respacedCall(t: EnvironmentTrial): { readonly actions: Action[]; readonly other: Action[] } {
  const actions = firstActions(t);
  const other = actions.map((action) => clone(ActionSchema, action));
  const call = other.find(({ kind }) => kind.case === "toolCall")?.kind;
  if (call?.case !== "toolCall") return t.notApplicable("the good script makes no tool call");
  call.value.argumentsJson = respaced(call.value.argumentsJson);
  return { actions, other };
}

/** Bytes of one element. */
const elementBytes: Readonly<Partial<Record<ElementType, number>>> = {
  [ElementType.BOOL]: 1,
  [ElementType.UINT8]: 1,
  [ElementType.INT8]: 1,
  [ElementType.UINT16]: 2,
  [ElementType.INT16]: 2,
  [ElementType.UINT32]: 4,
  [ElementType.INT32]: 4,
  [ElementType.UINT64]: 8,
  [ElementType.INT64]: 8,
  [ElementType.FLOAT16]: 2,
  [ElementType.BFLOAT16]: 2,
  [ElementType.FLOAT32]: 4,
  [ElementType.FLOAT64]: 8,
};

/** The first element of a tensor, read as little-endian; undefined where JavaScript has no reader for it. */
function elements({ elementType, data }: Tensor): number[] | undefined {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const size = elementBytes[elementType] ?? 0;
  const read: Readonly<Partial<Record<ElementType, (at: number) => number>>> = {
    [ElementType.BOOL]: (at) => view.getUint8(at),
    [ElementType.UINT8]: (at) => view.getUint8(at),
    [ElementType.INT8]: (at) => view.getInt8(at),
    [ElementType.UINT16]: (at) => view.getUint16(at, true),
    [ElementType.INT16]: (at) => view.getInt16(at, true),
    [ElementType.UINT32]: (at) => view.getUint32(at, true),
    [ElementType.INT32]: (at) => view.getInt32(at, true),
    [ElementType.UINT64]: (at) => Number(view.getBigUint64(at, true)),
    [ElementType.INT64]: (at) => Number(view.getBigInt64(at, true)),
    [ElementType.FLOAT32]: (at) => view.getFloat32(at, true),
    [ElementType.FLOAT64]: (at) => view.getFloat64(at, true),
  };
  const one = read[elementType];
  return one === undefined
    ? undefined
    : Array.from({ length: data.byteLength / size }, (_, index) => one(index * size));
}

/** Every tensor of a message. */
function tensorsIn(value: unknown): Tensor[] {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  const own = "$typeName" in value && value.$typeName === "touchstone.v1.Tensor" ? [value as Tensor] : [];
  return [...own, ...Object.values(value).flatMap(tensorsIn)];
}

function judgeTensor(t: EnvironmentTrial, tensor: Tensor, specs: readonly TensorSpec[]): void {
  const { name, elementType, shape, data } = tensor;
  const spec = specs.find((one) => one.name === name);
  t.judge.that(`tensor ${name}`, spec !== undefined, {
    expected: `one of ${specs.map((one) => one.name).join(", ")}`,
    actual: name,
  });
  if (spec === undefined) return;
  t.judge.equal(`element_type of ${name}`, elementType, spec.elementType);
  const count = shape.reduce((product, side) => product * side, 1n);
  const bytes = count * BigInt(elementBytes[elementType] ?? 0);
  t.judge.equal(`bytes of ${name}`, BigInt(data.byteLength), bytes);
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = spec;
  for (const value of elements(tensor) ?? []) {
    t.judge.that(`an element of ${name}, read little-endian`, value >= minimum && value <= maximum, {
      expected: `${minimum} to ${maximum}`,
      actual: value,
    });
  }
}

/** R10: data comes through as it was. */
export const dataChecks = [
  environmentCheck(
    {
      clause: "ALL-DATA-002",
      name: "public-json",
      title: "public_json with blanks of its own is echoed byte for byte.",
    },
    async (t) => {
      const task = clone(TaskSchema, hasPublicJson(t));
      task.publicJson = respaced(task.publicJson);
      const { descriptor } = await t.open({ source: { case: "task", value: task } });
      t.judge.equal("session.public_json", descriptor.publicJson, task.publicJson);
    },
  ),
  environmentCheck(
    {
      clause: "ALL-DATA-003",
      name: "seed",
      title: "seeds of 2^53 + 1 and 2^63 - 1 are echoed exactly.",
    },
    async (t) => {
      for (const seed of [2n ** 53n + 1n, 2n ** 63n - 1n]) {
        const { descriptor } = await t.open({ seed });
        if (descriptor.seed === undefined) t.notApplicable("the world has no seed");
        t.judge.equal("session.seed", descriptor.seed, seed);
      }
    },
  ),
  environmentCheck(
    {
      clause: "ALL-DATA-005",
      name: "tensor-length",
      title: "a tensor of one byte less than its shape is refused, the whole one is taken.",
      features: [Feature.STEP],
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const kinds = session.descriptor.declarations?.actionKinds ?? [];
      if (!kinds.includes(ActionKind.CONTENT)) t.notApplicable("actions are no content here");
      const whole = firstActions(t);
      const short = whole.map((action) => clone(ActionSchema, action));
      const [tensor] = tensorsIn(short);
      if (tensor === undefined) return t.notApplicable("the good script's first action is no tensor");
      tensor.data = tensor.data.subarray(0, -1);
      t.judge.refused("one byte less", await session.step(0, short));
      t.judge.answer("the whole one", await session.step(0, whole));
    },
  ),
  environmentCheck(
    {
      clause: "ALL-DATA-007",
      name: "arguments",
      title: "a tool call's arguments with blanks of their own stand in the ledger byte for byte.",
      features: [Feature.STEP, Feature.TOOLS, Feature.WATCH_STEPS],
    },
    async (t) => {
      const { other } = respacedCall(t);
      const session = await t.open();
      t.judge.answer("the step", await session.step(0, other));
      const feed = t.calls.watchSteps({ sessionId: session.id });
      const first = await feed.next();
      feed.cancel();
      const record = first?.event.case === "step" ? first.event.value : undefined;
      t.judge.equal("the actions of the record", record?.actions, other);
    },
  ),
  environmentCheck(
    {
      clause: "ALL-DATA-008",
      name: "observed-tensors",
      title: "each tensor that is observed has the declared type, its shape's length, and values in range.",
      features: [Feature.STEP],
    },
    async (t) => {
      const session = await t.open();
      const specs = session.descriptor.declarations?.observationSpace ?? [];
      if (specs.length === 0) t.notApplicable("observations are no tensors here");
      const steps = await session.play(t.fixture.sample.good);
      const seen = [...session.descriptor.agents, ...steps.flatMap(({ outcomes }) => outcomes)];
      const tensors = seen.flatMap(({ observation }) => tensorsIn(observation));
      if (tensors.length === 0) t.notApplicable("the good script observes no tensor");
      t.judge.each("the tensors", tensors, (tensor) => judgeTensor(t, tensor, specs));
    },
  ),
  environmentCheck(
    {
      clause: "ALL-REPEAT-017",
      name: "public-json",
      title: "Seed: the same JSON with a blank more is other content.",
      sendsInvalid: true,
    },
    async (t) => {
      const task = hasPublicJson(t);
      const { request } = await t.open();
      const other = { ...task, publicJson: respaced(task.publicJson) };
      const reply = await t.calls.seed({ ...request, source: { case: "task", value: other } });
      t.judge.refused("the Seed with a blank more", reply, conflict);
    },
  ),
  environmentCheck(
    {
      clause: "ALL-REPEAT-017",
      name: "arguments",
      title: "Step: the same arguments with a blank more are other content.",
      features: [Feature.STEP, Feature.TOOLS],
      sendsInvalid: true,
    },
    async (t) => {
      const { actions, other } = respacedCall(t);
      const session = await t.open();
      t.judge.answer("the step", await session.step(0, actions));
      t.judge.refused("the step with a blank more", await session.step(0, other), conflict);
    },
  ),
];
