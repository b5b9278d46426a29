import { type Block, ElementType, type Tensor, type TensorSpec } from "../../../gen/index.js";
import { invalidField } from "../../runtime/refusal.js";
import { elementBytes, elementsOf } from "./tensor-elements.js";

/**
 * Refuses content with a tensor that is not what it says (ALL-DATA-005), or, where an action space is declared, not the
 * tensors of that space (field-case-011).
 */
export function checkTensors(blocks: readonly Block[], space: readonly TensorSpec[], path: string): void {
  const seen = new Set<string>();
  for (const [i, { kind }] of blocks.entries()) {
    if (kind.case !== "tensor") continue;
    const at = `${path}.blocks[${i}].tensor`;
    checkBytes(kind.value, at);
    if (space.length === 0) continue;
    const spec = specOf(space, kind.value, at);
    if (seen.has(spec.name)) throw invalidField(`${at}.name`, `a second tensor "${spec.name}"`);
    seen.add(spec.name);
    checkSpec(kind.value, spec, at);
  }
  const missing = space.find(({ name }) => !seen.has(name));
  if (missing !== undefined) {
    throw invalidField(`${path}.blocks`, `expected a tensor "${missing.name}", found none`);
  }
}

function checkBytes({ elementType, shape, data }: Tensor, at: string): void {
  const size = elementBytes(elementType);
  if (size === undefined) {
    throw invalidField(`${at}.element_type`, `expected a type of elements, found ${elementType}`);
  }
  const expected = shape.reduce((product, dimension) => product * dimension, BigInt(size));
  if (BigInt(data.length) === expected) return;
  throw invalidField(
    `${at}.data`,
    `expected ${expected} bytes for shape [${shape.join(", ")}] of ${ElementType[elementType]}, found ${data.length}`,
  );
}

function specOf(space: readonly TensorSpec[], { name }: Tensor, at: string): TensorSpec {
  // Where there is one tensor its name may be left out.
  const [only] = space;
  if (name === "" && space.length === 1 && only !== undefined) return only;
  const spec = space.find((known) => known.name === name);
  if (spec !== undefined) return spec;
  const known = space.map((one) => one.name).join(", ");
  throw invalidField(`${at}.name`, `there is no tensor "${name}" in the action space; there is: ${known}`);
}

function checkSpec(tensor: Tensor, spec: TensorSpec, at: string): void {
  if (tensor.elementType !== spec.elementType) {
    const found = ElementType[tensor.elementType];
    throw invalidField(`${at}.element_type`, `expected ${ElementType[spec.elementType]}, found ${found}`);
  }
  const fits =
    tensor.shape.length === spec.shape.length &&
    spec.shape.every((size, i) => size === 0n || size === tensor.shape[i]);
  if (!fits) {
    const expected = spec.shape.map((size) => (size === 0n ? "any" : size)).join(", ");
    throw invalidField(`${at}.shape`, `expected [${expected}], found [${tensor.shape.join(", ")}]`);
  }
  checkRange(tensor, spec, at);
}

function checkRange(tensor: Tensor, { minimum, maximum }: TensorSpec, at: string): void {
  if (minimum === undefined && maximum === undefined) return;
  const least = minimum ?? Number.NEGATIVE_INFINITY;
  const greatest = maximum ?? Number.POSITIVE_INFINITY;
  for (const value of elementsOf(tensor)) {
    // Written so that NaN, too, is outside.
    if (value >= least && value <= greatest) continue;
    throw invalidField(`${at}.data`, `expected elements from ${least} to ${greatest}, found ${value}`);
  }
}
