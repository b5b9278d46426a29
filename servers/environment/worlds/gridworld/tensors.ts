import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Action,
  type Block,
  BlockSchema,
  ElementType,
  type TensorSpecSchema,
} from "../../../../gen/index.js";
import { type Direction, directions, type Lake } from "./lake.js";

type Spec = MessageInitShape<typeof TensorSpecSchema>;

/** One move: the number of its direction. */
export const actionSpace: readonly Spec[] = [
  {
    name: "direction",
    elementType: ElementType.INT64,
    shape: [],
    minimum: 0,
    maximum: directions.length - 1,
  },
];

/** Letters of cells, at the places that are their numbers in the tensor `lake`. */
const letters = "SFHG";

/** Where the agent is, and the lake by rows. */
export const observationSpace: readonly Spec[] = [
  { name: "cell", elementType: ElementType.INT64, shape: [], minimum: 0 },
  { name: "lake", elementType: ElementType.UINT8, shape: [0n, 0n], minimum: 0, maximum: letters.length - 1 },
];

/** What the agent sees, as tensors. */
export function tensorsOf({ rows, width }: Lake, cell: number): Block[] {
  const place = new Uint8Array(8);
  new DataView(place.buffer).setBigInt64(0, BigInt(cell), true);
  const lake = Uint8Array.from(rows.join(""), (letter) => letters.indexOf(letter));
  const shape = [rows.length, width].map(BigInt);
  return [
    { name: "cell", elementType: ElementType.INT64, shape: [], data: place },
    { name: "lake", elementType: ElementType.UINT8, shape, data: lake },
  ].map((value) => create(BlockSchema, { kind: { case: "tensor", value } }));
}

/** The direction that a tensor action names; undefined: none. */
export function directionOf({ kind }: Action): Direction | undefined {
  const block = kind.case === "content" ? kind.value.blocks[0]?.kind : undefined;
  if (block?.case !== "tensor" || block.value.data.length !== 8) return undefined;
  const { buffer, byteOffset } = block.value.data;
  return directions[Number(new DataView(buffer, byteOffset, 8).getBigInt64(0, true))];
}
