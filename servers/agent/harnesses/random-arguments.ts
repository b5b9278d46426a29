import { createHash } from "node:crypto";

/** Draws of chance that follow from a key: the same key gives the same draws. */
export interface Chance {
  /** A whole number from 0 to below `bound`. */
  below(bound: number): number;
  /** One of the items; undefined where there is none. */
  oneOf<T>(items: readonly T[]): T | undefined;
}

/** Chance from the digests of a key and a count. */
export function chanceOf(key: string): Chance {
  let draws = 0;
  const below = (bound: number): number => {
    draws += 1;
    return createHash("sha256").update(`${key}/${draws}`).digest().readUIntBE(0, 6) % bound;
  };
  return { below, oneOf: (items) => items[below(items.length || 1)] };
}

const words = ["apple", "blue", "7", "north", "yes", "Ana", "open", "42", "none", "river"];

/** Words, as many as `count`. */
export function randomText(chance: Chance, count: number): string {
  return Array.from({ length: count }, () => chance.oneOf(words)).join(" ");
}

/** How deep values are nested at most: a schema may hold itself. */
const deepest = 6;

type Schema = Readonly<Record<string, unknown>>;

/**
 * Arguments for a tool, drawn from its JSON Schema: types, enumerations, bounds, lengths, required and optional members,
 * alternatives and references within the schema. What else a schema asks for, such as a pattern, may be missed.
 */
export function randomArguments(schemaJson: string, chance: Chance): string {
  const root = asSchema(readJson(schemaJson));
  const drawn = new Drawing(root, chance).value({ type: "object", ...root }, 0);
  return JSON.stringify(drawn);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function asSchema(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const asNumber = (value: unknown, otherwise: number): number =>
  typeof value === "number" ? value : otherwise;

/** Draws values of the schemas of one tool. */
class Drawing {
  constructor(
    private readonly root: Schema,
    private readonly chance: Chance,
  ) {}

  value(given: unknown, depth: number): unknown {
    const schema = this.#resolved(asSchema(given), depth);
    if ("const" in schema) return schema["const"];
    if (Array.isArray(schema["enum"])) return this.chance.oneOf(schema["enum"]);
    const alternatives = [...asList(schema["anyOf"]), ...asList(schema["oneOf"])];
    if (alternatives.length > 0) return this.value(this.chance.oneOf(alternatives), depth + 1);
    const type = Array.isArray(schema["type"]) ? this.chance.oneOf(schema["type"]) : schema["type"];
    switch (type) {
      case "object":
        return this.#object(schema, depth);
      case "array":
        return this.#array(schema, depth);
      case "integer":
        return this.#number(schema, 1);
      case "number":
        return this.#number(schema, 0.5);
      case "boolean":
        return this.chance.below(2) === 1;
      case "null":
        return null;
      default:
        return this.#text(schema);
    }
  }

  /** The schema with what it refers to and what all hold of it. */
  #resolved(schema: Schema, depth: number): Schema {
    if (depth > deepest) return { type: "null" };
    const { $ref: ref, allOf, ...own } = schema;
    const parts = typeof ref === "string" ? [this.#referred(ref), ...asList(allOf)] : asList(allOf);
    return Object.assign({}, ...parts.map((part) => this.#resolved(asSchema(part), depth + 1)), own);
  }

  /** What a reference such as `#/$defs/x` means. */
  #referred(ref: string): unknown {
    if (!ref.startsWith("#")) return {};
    const path = ref.slice(1).split("/").slice(1);
    return path.reduce<unknown>(
      (found, key) => asSchema(found)[key.replaceAll("~1", "/").replaceAll("~0", "~")],
      this.root,
    );
  }

  #object({ properties, required }: Schema, depth: number): object {
    const wanted = asList(required);
    const drawn = Object.entries(asSchema(properties)).filter(
      ([name]) => wanted.includes(name) || this.chance.below(2) === 1,
    );
    return Object.fromEntries(drawn.map(([name, schema]) => [name, this.value(schema, depth + 1)]));
  }

  #array({ items, minItems, maxItems }: Schema, depth: number): unknown[] {
    const least = asNumber(minItems, 0);
    const length = least + this.chance.below(Math.min(3, asNumber(maxItems, least + 2) - least + 1));
    return Array.from({ length }, () => this.value(items, depth + 1));
  }

  /** A multiple of `unit` within the bounds; of wide bounds a small one. */
  #number(schema: Schema, unit: number): number {
    const least = asNumber(schema["minimum"], asNumber(schema["exclusiveMinimum"], -100) + unit);
    const most = asNumber(schema["maximum"], asNumber(schema["exclusiveMaximum"], 101) - unit);
    const from = Math.ceil((least <= 0 && most >= 0 ? Math.max(least, -10) : least) / unit);
    const to = Math.floor(Math.min(most, from * unit + 20) / unit);
    return (from + this.chance.below(Math.max(1, to - from + 1))) * unit;
  }

  #text({ minLength, maxLength }: Schema): string {
    const text = randomText(this.chance, 1 + this.chance.below(2));
    return text.padEnd(asNumber(minLength, 0), "x").slice(0, asNumber(maxLength, text.length + 256));
  }
}
