import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { type Clause, readClauses, readDescriptorSet } from "./contract-clauses.js";
import { suitePackage } from "./package-root.js";
import { areaOf, type Profile, profilesOf } from "./profile.js";
import { type Requirement, requirementFileSchema, requirementSchema } from "./requirement.js";

/** A clause with everything that the suite knows of it. */
export interface CatalogueEntry extends Clause, Requirement {
  /** Profiles that it is judged in. */
  readonly profiles: readonly Profile[];
  /** Its sentence stands in docs/contract.md at this anchor. */
  readonly anchor: string;
}

/** Every clause of the contract. */
export interface Catalogue {
  /** By id, in the order of the proto files. */
  readonly entries: ReadonlyMap<string, CatalogueEntry>;
  /** Ids in `requirements/` that no proto comment has. */
  readonly orphans: readonly string[];
  /** sha256 over all entries: two runs with the same digest judged by the same text. */
  readonly digest: string;
}

const folder = join("conformance", "requirements");

function readRequirements(): Map<string, Requirement> {
  const found = new Map<string, Requirement>();
  const path = join(suitePackage.folder, folder);
  for (const file of readdirSync(path).sort()) {
    const entries = requirementFileSchema.parse(parse(readFileSync(join(path, file), "utf8")) ?? {});
    for (const [id, requirement] of Object.entries(entries)) {
      if (found.has(id))
        throw new Error(`${id} is in two files of ${folder}: keep it in the one of its area`);
      found.set(id, requirement);
    }
  }
  return found;
}

function profilesOfClause(clause: Clause): readonly Profile[] {
  const area = clause.id.slice(0, 3);
  const own = Object.entries(areaOf).find(([, name]) => name === area)?.[0] as Profile | undefined;
  return own === undefined ? profilesOf(clause.services) : [own];
}

let read: Catalogue | undefined;

/** Joins the sentences of the proto comments with `conformance/requirements/*.yaml`, once a process. */
export function readCatalogue(): Catalogue {
  read ??= joinCatalogue();
  return read;
}

function joinCatalogue(): Catalogue {
  const { clauses, problems } = readClauses(readDescriptorSet());
  if (problems.length > 0) throw new Error(`the contract's comments cannot be read:\n${problems.join("\n")}`);
  const requirements = readRequirements();
  const entries = new Map<string, CatalogueEntry>();
  for (const clause of clauses) {
    const requirement = requirements.get(clause.id) ?? requirementSchema.parse({});
    entries.set(clause.id, {
      ...requirement,
      ...clause,
      profiles: profilesOfClause(clause),
      anchor: clause.id.toLowerCase(),
    });
  }
  return {
    entries,
    orphans: [...requirements.keys()].filter((id) => !entries.has(id)),
    digest: createHash("sha256")
      .update(JSON.stringify([...entries.values()]))
      .digest("hex"),
  };
}
