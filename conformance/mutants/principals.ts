import type { HandlerContext } from "@connectrpc/connect";
import { Refusal } from "../../servers/runtime/refusal.js";
import { referenceVariants } from "../reference/variants.js";
import {
  around,
  aroundCalls,
  type Call,
  inAnswers,
  inDescriptors,
  inErrors,
  isStream,
  type Rpc,
} from "./calls.js";
import { errorLike, inFailures, reasonOf } from "./errors-told.js";
import { inventedStep, newName } from "./invented.js";
import type { Build, Mutant } from "./mutant.js";
import { together } from "./seams.js";

const controller = `Bearer ${referenceVariants.principals.controllerToken}`;
const bearer = ({ requestHeader }: HandlerContext): string => requestHeader.get("authorization") ?? "";
const asController = ({ context }: Call): void => context.requestHeader.set("authorization", controller);

/** Knows the tokens that were minted, and whose they are. */
const knowingTokens = (handle: (tokens: ReadonlyMap<string, string>) => Build): Build => {
  const tokens = new Map<string, string>();
  return together(
    inDescriptors(({ sessionId, agents }) => {
      for (const { token } of agents) tokens.set(`Bearer ${token}`, sessionId);
    }),
    handle(tokens),
  );
};

/** Agents may call these too. */
const agentsMay = (rpcs: readonly Rpc[]): Build =>
  knowingTokens((tokens) =>
    aroundCalls((call, next) => {
      if (rpcs.some((rpc) => rpc === call.method.localName) && tokens.has(bearer(call.context)))
        asController(call);
      return next(call);
    }),
  );

/** Answers a step of an agent whose token is dead, where it died of something. */
const outlives = (dead: (of: { closed: boolean; verified: boolean }) => boolean): Build => {
  const closed = new Set<string>();
  const verified = new Set<string>();
  return knowingTokens((tokens) =>
    together(
      around("close", async ({ request }, next) => {
        const answer = await next();
        if (answer.receipt?.alreadyClosed === false) closed.add(request.sessionId);
        return answer;
      }),
      inAnswers("verify", ({ event }, { target }) => {
        if (event.case === "result" && target.case === "session" && target.value.final)
          verified.add(target.value.sessionId);
      }),
      aroundCalls((call, next) => {
        const session = tokens.get(bearer(call.context));
        if (call.method.localName !== "step" || isStream(call.request) || session === undefined)
          return next(call);
        return Promise.resolve(next(call)).catch((error: unknown) => {
          const state = { closed: closed.has(session), verified: verified.has(session) };
          if (reasonOf(error) === "CREDENTIALS" && dead(state)) return inventedStep();
          throw error;
        });
      }),
    ),
  );
};

const replayMints = (): Build => {
  const seen = new Set<string>();
  return inAnswers("seed", ({ session }) => {
    if (session === undefined) return;
    if (seen.has(session.sessionId)) for (const agent of session.agents) agent.token = newName("token");
    seen.add(session.sessionId);
  });
};

/** R15: principals. */
export const principalMutants: readonly Mutant[] = (
  [
    {
      name: "one-token-for-all",
      clause: "ALL-PRIN-001",
      what: "gives all agents one token",
      build: inDescriptors(({ agents }) => {
        for (const agent of agents) agent.token = "0123456789abcdef0123456789abcdef";
      }),
    },
    {
      name: "agent-may-verify",
      clause: "ALL-PRIN-002",
      what: "lets agents verify their own work",
      build: agentsMay(["verify"]),
    },
    {
      name: "agent-may-nothing",
      clause: "ALL-PRIN-003",
      what: "lets agents do nothing",
      build: knowingTokens((tokens) =>
        aroundCalls((call, next) => {
          if (tokens.has(bearer(call.context))) throw new Refusal("PERMISSION", "the controller's alone");
          return next(call);
        }),
      ),
    },
    {
      name: "foreign-distinguishable",
      clause: "ALL-PRIN-004",
      what: "tells agents which sessions there are",
      build: knowingTokens((tokens) =>
        around("step", async ({ request, context }, next) => {
          const own = tokens.get(bearer(context));
          const known = new Set(tokens.values()).has(request.sessionId);
          if (own !== undefined && own !== request.sessionId && known)
            throw new Refusal("SESSION_BUSY", "another agent's");
          return await next();
        }),
      ),
    },
    {
      name: "token-outlives-close",
      clause: "ALL-PRIN-005",
      what: "takes an agent's token after Close",
      build: outlives(({ closed }) => closed),
    },
    {
      name: "credential-unchecked",
      clause: "ALL-PRIN-006",
      what: "takes any credential, and none",
      build: knowingTokens((tokens) =>
        aroundCalls((call, next) => {
          if (!tokens.has(bearer(call.context))) asController(call);
          return next(call);
        }),
      ),
    },
    {
      name: "reward-to-agent",
      clause: "ALL-PRIN-007",
      what: "tells agents their rewards",
      build: inAnswers("step", ({ outcomes }) => {
        for (const outcome of outcomes) outcome.reward ??= { $typeName: "touchstone.v1.Reward", value: 1 };
      }),
    },
    {
      name: "token-outlives-lease",
      clause: "ALL-PRIN-009",
      what: "takes an agent's token after its session's lease",
      build: outlives(({ closed, verified }) => !closed && !verified),
    },
    {
      name: "token-outlives-verify",
      clause: "ALL-PRIN-010",
      what: "takes an agent's token after the final verification",
      build: outlives(({ verified }) => verified),
    },
    {
      name: "acts-for-others",
      clause: "ALL-PRIN-011",
      what: "lets an agent act for another one",
      variant: "simultaneous",
      build: agentsMay(["step"]),
    },
    {
      name: "agent-renews",
      clause: "ALL-PRIN-012",
      what: "lets agents renew their sessions' leases",
      build: agentsMay(["keepAlive"]),
    },
    {
      name: "replay-mints-anew",
      clause: "ALL-PRIN-013",
      what: "gives a repeat of Seed other tokens",
      build: replayMints(),
    },
  ] as readonly Mutant[]
).map((mutant): Mutant => ({ variant: "principals", ...mutant }));

const secret = "canary-41";

/** R16: privileged data. */
export const privacyMutants: readonly Mutant[] = [
  {
    name: "leaks-privileged-field",
    clause: "ALL-PRIV-001",
    what: "tells the right answer with the session",
    build: inDescriptors((descriptor) => {
      descriptor.publicJson = JSON.stringify({ answer: secret });
    }),
  },
  {
    name: "privileged-in-error",
    clause: "ALL-PRIV-002",
    what: "tells the right answer in its errors",
    build: together(
      inErrors((error) => errorLike(error, { message: `${error.rawMessage}; it was ${secret}` })),
      inFailures((failure) => {
        failure.reason += `; it was ${secret}`;
      }),
    ),
  },
  {
    name: "reference-in-descriptor",
    clause: "ALL-PRIV-006",
    what: "tells agents the solution",
    build: inDescriptors(({ agents }, request) => {
      const task = "source" in request && request.source.case === "task" ? request.source.value : undefined;
      for (const { input } of agents) input.push(...(task?.reference?.items ?? []));
    }),
  },
];
