import { create } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { type Clause, readClauses, readDescriptorSet } from "../conformance/catalogue/contract-clauses.js";
import { fillContract } from "./contract-tables.js";
import { featureNames, lintClauses, readRemovedClauses } from "./lint-clauses.js";

const contract = readDescriptorSet();
const { clauses, problems } = readClauses(contract);
const removed = readRemovedClauses();
const features = featureNames(contract);

/** A file whose head is this comment. */
function withHead(comment: string): FileDescriptorSet {
  const syntax = 12;
  return create(FileDescriptorSetSchema, {
    file: [
      create(FileDescriptorProtoSchema, {
        name: "touchstone/v1/some.proto",
        package: "touchstone.v1",
        sourceCodeInfo: { location: [{ path: [syntax], leadingComments: comment }] },
      }),
    ],
  });
}

function clause(changes: Partial<Clause>): Clause {
  return {
    id: "ALL-ID-001",
    level: "MUST",
    services: "",
    conditions: [],
    sentence: "Something holds.",
    file: "touchstone/v1/some.proto",
    element: "",
    rule: "",
    ...changes,
  };
}

describe("readClauses", () => {
  it("reads every bullet of the contract as a clause", () => {
    expect(problems).toEqual([]);
    expect(clauses.length).toBeGreaterThan(600);
  });

  it("tells level, scope, condition, sentence and place", () => {
    expect(clauses.find(({ id }) => id === "ALL-PRIN-011")).toEqual({
      id: "ALL-PRIN-011",
      level: "MUST",
      services: "E",
      conditions: ["MULTI_AGENT", "PRINCIPALS"],
      sentence: "An agent token acts for its own agent_id only.",
      file: "touchstone/v1/access.proto",
      element: "",
      rule: "R15",
    });
    expect(clauses.find(({ id }) => id === "ENV-FENC-008")).toMatchObject({
      sentence: "A Verify that is not final does not fence.",
      element: "SessionVerification.final",
    });
    expect(clauses.find(({ id }) => id === "ENV-HERM-001")?.element).toBe(
      "VerifyIsolation.VERIFY_ISOLATION_FRESH",
    );
  });

  it("joins a sentence that goes on in the next line", () => {
    const set = withHead(" # R1 Names\n\n - ALL-ID-001 MUST One thing\n   holds.\n More prose.\n");
    expect(readClauses(set).clauses).toEqual([clause({ sentence: "One thing holds.", rule: "R1" })]);
  });

  it.each([
    ["no level", "ALL-ID-001 One thing holds."],
    ["a short number", "ALL-ID-01 MUST One thing holds."],
    ["no full stop", "ALL-ID-001 MUST One thing holds"],
    ["brackets before the services", "ALL-ID-001 MUST [STEP] (E) One thing holds."],
  ])("refuses a bullet with %s", (_what, text) => {
    const reading = readClauses(withHead(` - ${text}\n`));
    expect(reading.clauses).toEqual([]);
    expect(reading.problems).toEqual([expect.stringContaining(`found "${text}"`)]);
  });
});

describe("lintClauses", () => {
  it("finds nothing wrong with the contract", () => {
    expect(lintClauses(clauses, { removed, features })).toEqual([]);
  });

  const bare = { merged: {}, dropped: [] };
  it.each([
    [
      "an id given twice",
      [clause({}), clause({ file: "other.proto" })],
      /is in .*some.proto and in other.proto/,
    ],
    [
      "services of a service's own clause",
      [clause({ id: "ENV-SEED-001", services: "E" })],
      /for ALL clauses only/,
    ],
    ["an area that is none", [clause({ id: "XYZ-SEED-001" })], /area XYZ/],
    ["all services in parentheses", [clause({ services: "EASMP" })], /not all of them/],
    ["a service twice", [clause({ services: "EE" })], /each once/],
    ["a condition that nobody declares", [clause({ conditions: ["STEPS"] })], /\[STEPS\] is no feature/],
    ["a second clause inside", [clause({ sentence: "This. ALL-ID-002 MUST That." })], /lost its dash/],
  ])("tells %s", (_what, found, message) => {
    expect(lintClauses(found, { removed: bare, features })).toEqual([expect.stringMatching(message)]);
  });

  it("tells a removed id that is used again, and a merge into nothing", () => {
    const used = { merged: { "ALL-ID-001": "ALL-ID-002" }, dropped: ["ALL-ID-003"] };
    expect(lintClauses([clause({}), clause({ id: "ALL-ID-003" })], { removed: used, features })).toEqual([
      expect.stringMatching(/ALL-ID-001 .* never used again/),
      expect.stringMatching(/ALL-ID-003 .* never used again/),
      expect.stringMatching(/ALL-ID-001 is now in ALL-ID-002, which is no clause/),
    ]);
  });
});

describe("fillContract", () => {
  const sources = { clauses: [clause({ rule: "R1" }), clause({ id: "ENV-SEED-001" })], set: contract };
  const page = "# Page\n\n<!-- clauses R1 ENV-SEED -->\nold\n<!-- end -->\n";

  it("puts each clause into its place and leaves the rest alone", () => {
    const { text, problems: wrong } = fillContract(page, sources);
    expect(wrong).toEqual([]);
    expect(text).toMatchInlineSnapshot(`
      "# Page

      <!-- clauses R1 ENV-SEED -->

      | Clause | Level | Beside | What holds |
      | --- | --- | --- | --- |
      | <a id="all-id-001"></a>ALL-ID-001 | MUST | all | Something holds. |
      | <a id="env-seed-001"></a>ENV-SEED-001 | MUST |  | Something holds. |

      <!-- end -->
      "
    `);
    expect(fillContract(text, sources).text).toBe(text);
  });

  it("lists the values of an enum by their comments", () => {
    const { text } = fillContract("<!-- values Retry -->\n<!-- end -->", { ...sources, clauses: [] });
    expect(text).toContain("| `NEW_ATTEMPT` | Another attempt of the episode. |");
    expect(text).not.toContain("UNSPECIFIED");
  });

  it("tells clauses without a place, clauses with two, and places without clauses", () => {
    const twice = `${page}\n<!-- clauses ALL-ID ALL-NONE -->\n<!-- end -->\n`;
    const more = [...sources.clauses, clause({ id: "MDL-GEN-001" })];
    expect(fillContract(twice, { ...sources, clauses: more }).problems).toEqual([
      expect.stringMatching(/no clause stands under ALL-NONE/),
      expect.stringMatching(/ALL-ID-001 .* stands 2 times/),
      expect.stringMatching(/MDL-GEN-001 .* stands 0 times/),
    ]);
    expect(
      fillContract("<!-- values Nothing -->\n<!-- end -->", { ...sources, clauses: [] }).problems,
    ).toEqual([expect.stringMatching(/none of that name/)]);
  });
});
