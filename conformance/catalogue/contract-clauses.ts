// The clauses of the contract, as the comments of the proto files say them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { suitePackage } from "./package-root.js";
import { type CommentBlock, commentBlocks } from "./proto-comments.js";

/** Word that says how far a clause binds. */
export type ClauseLevel = "MUST" | "SHOULD" | "MAY";

/** One clause, where it stands and what it says. */
export interface Clause {
  /** `AREA-TOPIC-NNN`, stable for ever. */
  readonly id: string;
  /** How far it binds. */
  readonly level: ClauseLevel;
  /** Letters of the services that a shared clause binds (`EASMP`); empty: those of its area. */
  readonly services: string;
  /** Features (capitals) and circumstances (small letters), all of which must hold; empty: always. */
  readonly conditions: readonly string[];
  /** The sentence. */
  readonly sentence: string;
  /** Proto file, for example `touchstone/v1/operation.proto`. */
  readonly file: string;
  /** What it stands beside, `EnvironmentService.Seed`; empty: the head of the file. */
  readonly element: string;
  /** Rule under whose heading it stands at the head of a file, `R2`; empty: none. */
  readonly rule: string;
}

/** What was found: the clauses, and the bullets that are none. */
export interface ClauseReading {
  /** In the order of the files. */
  readonly clauses: readonly Clause[];
  /** One sentence for each bullet that cannot be read as a clause. */
  readonly problems: readonly string[];
}

const FORM =
  /^(?<id>[A-Z]{3}-[A-Z0-9]+-\d{3}) (?<level>MUST|SHOULD|MAY)(?: \((?<services>[A-Z]+)\))?(?: \[(?<conditions>[^\]\s]+)\])? (?<sentence>[A-Za-z0-9`].*\.)$/;

function isLevel(text: string | undefined): text is ClauseLevel {
  return text === "MUST" || text === "SHOULD" || text === "MAY";
}

/** Bullets (`- ...`, continued by lines indented by two) with the rule heading above each. */
function bullets(block: CommentBlock): { text: string; rule: string }[] {
  const found: { text: string; rule: string }[] = [];
  let rule = "";
  let open = false;
  for (const line of block.lines) {
    const last = found.at(-1);
    if (line.startsWith("# ")) {
      rule = /^# (R\d+) /.exec(line)?.[1] ?? "";
      open = false;
    } else if (line.startsWith("- ")) {
      found.push({ text: line.slice(2), rule });
      open = true;
    } else if (open && last !== undefined && /^ {2}\S/.test(line)) {
      last.text += ` ${line.trim()}`;
    } else {
      open = false;
    }
  }
  return found;
}

/** Reads the clauses of all `touchstone.v1` files of a descriptor set that carries source info. */
export function readClauses(set: FileDescriptorSet): ClauseReading {
  const clauses: Clause[] = [];
  const problems: string[] = [];
  for (const file of set.file.filter((one) => one.package === "touchstone.v1")) {
    for (const block of commentBlocks(file)) {
      for (const { text, rule } of bullets(block)) {
        const parts = FORM.exec(text)?.groups;
        const { id, level, sentence } = parts ?? {};
        if (id === undefined || !isLevel(level) || sentence === undefined) {
          problems.push(
            `${file.name}, at ${block.element || "its head"}: expected a clause ` +
              `"ID LEVEL (services) [CONDITION] Sentence.", found "${text}". Write it in that form, or without the dash.`,
          );
          continue;
        }
        clauses.push({
          id,
          level,
          services: parts?.["services"] ?? "",
          conditions: parts?.["conditions"]?.split("+") ?? [],
          sentence,
          file: file.name,
          element: block.element,
          rule,
        });
      }
    }
  }
  return { clauses, problems };
}

/** The compiled proto files, comments included, as `npm run generate` left them in `gen/`. */
export function readDescriptorSet(): FileDescriptorSet {
  return fromBinary(
    FileDescriptorSetSchema,
    readFileSync(join(suitePackage.folder, "gen", "touchstone.binpb")),
  );
}
