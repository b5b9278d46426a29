import { type ResourceIntent, ResourceKind } from "../gen/index.js";

/** What names a resource; a driver may tell its id alone. */
type Named = Pick<ResourceIntent, "kind" | "binding" | "id">;

/** What is intended and not told to be released. */
export class OpenResources {
  #open: readonly ResourceIntent[];

  constructor(handedOver: readonly ResourceIntent[]) {
    this.#open = handedOver;
  }

  /** It is made, or about to be. */
  intended(intent: ResourceIntent): void {
    this.released(intent);
    this.#open = [...this.#open, intent];
  }

  /** Nothing of it is left. */
  released({ kind, binding, id }: Named): void {
    this.#open = this.#open.filter(
      (open) =>
        open.id !== id ||
        (kind !== ResourceKind.UNSPECIFIED && open.kind !== kind) ||
        (binding !== "" && open.binding !== binding),
    );
  }

  /** In the order in which they were intended. */
  all(): readonly ResourceIntent[] {
    return this.#open;
  }
}
