import { ElementType, type Tensor } from "../../../gen/index.js";

/** How the elements of a type are read: their size in bytes, and the number at a place. */
interface Elements {
  readonly bytes: number;
  read(view: DataView, offset: number): number;
}

/** Elements are little-endian (ALL-DATA-008). */
const elements: Partial<Record<ElementType, Elements>> = {
  [ElementType.BOOL]: { bytes: 1, read: (view, at) => view.getUint8(at) },
  [ElementType.UINT8]: { bytes: 1, read: (view, at) => view.getUint8(at) },
  [ElementType.INT8]: { bytes: 1, read: (view, at) => view.getInt8(at) },
  [ElementType.UINT16]: { bytes: 2, read: (view, at) => view.getUint16(at, true) },
  [ElementType.INT16]: { bytes: 2, read: (view, at) => view.getInt16(at, true) },
  [ElementType.UINT32]: { bytes: 4, read: (view, at) => view.getUint32(at, true) },
  [ElementType.INT32]: { bytes: 4, read: (view, at) => view.getInt32(at, true) },
  [ElementType.UINT64]: { bytes: 8, read: (view, at) => Number(view.getBigUint64(at, true)) },
  [ElementType.INT64]: { bytes: 8, read: (view, at) => Number(view.getBigInt64(at, true)) },
  [ElementType.FLOAT16]: { bytes: 2, read: (view, at) => fromHalf(view.getUint16(at, true)) },
  [ElementType.BFLOAT16]: { bytes: 2, read: (view, at) => fromUpperHalf(view.getUint16(at, true)) },
  [ElementType.FLOAT32]: { bytes: 4, read: (view, at) => view.getFloat32(at, true) },
  [ElementType.FLOAT64]: { bytes: 8, read: (view, at) => view.getFloat64(at, true) },
};

/** Bytes of an element; undefined for a type that is not known. */
export function elementBytes(type: ElementType): number | undefined {
  return elements[type]?.bytes;
}

/** The elements of a tensor whose bytes are as many as its shape needs. */
export function* elementsOf({ elementType, data }: Tensor): Generator<number> {
  const known = elements[elementType];
  if (known === undefined) return;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at + known.bytes <= data.length; at += known.bytes) yield known.read(view, at);
}

/** IEEE binary16. */
function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The upper half of a binary32. */
function fromUpperHalf(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint16(0, bits);
  return view.getFloat32(0);
}
