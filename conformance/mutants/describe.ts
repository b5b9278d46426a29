import { instanceHeader } from "../../clients/metadata.js";
import {
  ActionKind,
  type Declarations,
  type EnvironmentServiceDescribeResponse,
  Feature,
  Placement,
  RewardTiming,
  type ServiceInfo,
  StepReward,
} from "../../gen/index.js";
import { aroundCalls, eachOf, inAnswers, inDescriptors, isStream } from "./calls.js";
import type { Build, Mutant } from "./mutant.js";
import { together } from "./seams.js";

const described = (change: (answer: EnvironmentServiceDescribeResponse) => unknown): Build =>
  inAnswers("describe", change);
const info = (change: (service: ServiceInfo) => unknown): Build =>
  described(({ service }) => (service === undefined ? undefined : change(service)));
const declared = (change: (declarations: Declarations) => unknown): Build =>
  described(({ declarations }) => (declarations === undefined ? undefined : change(declarations)));

/** Sends no header touchstone-instance. */
const withoutInstance: Build = aroundCalls((call, next) => {
  const drop = (): void => call.context.responseHeader.delete(instanceHeader);
  const answer = next(call);
  if (isStream(answer)) {
    return eachOf(answer, (message) => {
      drop();
      return message;
    });
  }
  return Promise.resolve(answer).finally(drop);
});

let asked = 0;

/** R13, R14, and what an environment declares. */
export const describeMutants: readonly Mutant[] = [
  {
    name: "empty-describe",
    clause: "ALL-DESC-001",
    what: "does not say what it is",
    build: info((service) => {
      service.implementation = undefined;
    }),
  },
  {
    name: "describe-random",
    clause: "ALL-DESC-002",
    what: "describes itself otherwise each time",
    build: described((answer) => answer.rowSchemas.push(`row-${++asked}`)),
  },
  {
    name: "limits-zero",
    clause: "ALL-DESC-004",
    what: "declares no least timeout",
    build: info(({ limits }) => {
      if (limits?.timeout !== undefined) limits.timeout.minimum = undefined;
    }),
  },
  {
    name: "declared-but-broken",
    clause: "ALL-DESC-005",
    what: "declares forks that it does not make",
    variant: "core",
    build: info(({ features }) => features.push(Feature.FORK, Feature.TASK_LISTING)),
  },
  {
    name: "version-v1",
    clause: "ALL-DESC-013",
    what: "tells the contract version in another form",
    build: info((service) => {
      service.contractVersion = "1.0.0";
    }),
  },
  {
    name: "retention-1min",
    clause: "ALL-KEEP-002",
    what: "keeps what has ended for a minute",
    build: info(({ retention }) => {
      if (retention?.afterEnd !== undefined) retention.afterEnd.seconds = 60n;
    }),
  },
  {
    name: "no-instance-header",
    clause: "ALL-SCOPE-001",
    what: "sends no header touchstone-instance",
    build: withoutInstance,
  },
  {
    name: "timing-unspecified",
    clause: "ENV-DESC-001",
    what: "does not declare when it rewards",
    build: declared(({ reward }) => {
      if (reward !== undefined) reward.timing = RewardTiming.UNSPECIFIED;
    }),
  },
  {
    name: "timing-contradicts",
    clause: "ENV-DESC-002",
    what: "declares step rewards of no kind",
    build: declared(({ reward }) => {
      if (reward !== undefined) reward.stepReward = StepReward.NONE;
    }),
  },
  {
    name: "range-inverted",
    clause: "ENV-DESC-003",
    what: "declares a least reward above the greatest",
    build: declared(({ reward }) => {
      if (reward !== undefined) [reward.minimum, reward.maximum] = [reward.maximum, reward.minimum];
    }),
  },
  {
    name: "kinds-without-step",
    clause: "ENV-DESC-004",
    what: "declares kinds of action and takes no steps",
    variant: "core",
    build: declared(({ actionKinds }) => actionKinds.push(ActionKind.TOOL_CALL)),
  },
  {
    name: "placement-unspecified",
    clause: "ENV-DESC-005",
    what: "declares no placement",
    build: described((answer) => {
      answer.placements = [Placement.UNSPECIFIED];
    }),
  },
  {
    name: "split-without-revision",
    clause: "ENV-DESC-006",
    what: "declares splits without a revision",
    build: described(({ splits }) => {
      for (const split of splits) split.revision = "";
    }),
  },
  {
    name: "provider-is-url",
    clause: "ENV-DESC-007",
    what: "declares sandbox providers by their addresses",
    build: described(({ sandboxProviders }) => sandboxProviders.push("http://127.0.0.1:7001")),
  },
  {
    name: "schema-not-json",
    clause: "ENV-DESC-008",
    what: "declares a schema that is no JSON",
    build: described((answer) => {
      answer.publicSchemaJson = "target: integer";
    }),
  },
  {
    name: "space-too-narrow",
    clause: "ENV-DESC-009",
    what: "declares tool calls and no tools",
    build: together(
      declared((declarations) => {
        declarations.tools = [];
      }),
      inDescriptors(({ agents }) => {
        for (const agent of agents) agent.tools = [];
      }),
    ),
  },
  {
    name: "visible-not-declared",
    clause: "ENV-DESC-010",
    what: "declares that agents see rewards, and hides them",
    variant: "principals",
    also: ["ALL-PRIN-*"],
    build: declared(({ reward }) => {
      if (reward !== undefined) reward.rewardVisible = true;
    }),
  },
  {
    name: "declaration-differs",
    clause: "ENV-SEED-015",
    what: "tells another range of rewards in a session than in Describe",
    build: inDescriptors(({ declarations }) => {
      if (declarations?.reward !== undefined) declarations.reward.maximum = 1_000;
    }),
  },
  {
    name: "placement-undeclared",
    clause: "ENV-SEED-020",
    what: "places a session as it does not declare",
    build: inDescriptors((descriptor) => {
      descriptor.placement = Placement.SHARED_SANDBOX;
    }),
  },
];
