import { create } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import {
  ActionSchema,
  Feature,
  ItemSchema,
  type Placement,
  type Role,
  SubmissionSchema,
  TaskRequirementsSchema,
  TaskSchema,
} from "../../../gen/index.js";
import { environmentCheck } from "./environment-trial.js";
import { firstActions } from "./known-actions.js";
import { verifyEnd } from "./operations/verify.js";

/** A number that no enum and no oneof of the contract has. */
const unknown = 99;
/** A oneof arm that is not known is, to most decoders, one that is missing. */
const refusal = { code: ["INVALID_ARGUMENT"], reason: ["UNKNOWN_ENUM", "INVALID_FIELD"] };

/** A message field that nobody knows, as an arm of a later revision would come. */
const laterArm = () => [{ no: unknown, wireType: WireType.LengthDelimited, data: Uint8Array.of(0) }];

/** R10: what a request would act on and nobody knows. */
export const unknownKindChecks = [
  environmentCheck(
    {
      clause: "ALL-REFUSE-004",
      name: "placement",
      title: "Seed: a task that requires an unknown placement is refused by its path.",
      sendsInvalid: true,
    },
    async (t) => {
      const request = t.seedRequest();
      const sample = t.must(t.fixture.sample.task, "environment.sample.task");
      const requirements = create(TaskRequirementsSchema, { placement: unknown as Placement });
      const task = create(TaskSchema, { ...sample, requirements });
      const asked = { ...request, source: { case: "task" as const, value: task } };
      const status = t.judge.refused("the unknown placement", await t.calls.seed(asked), refusal);
      t.judge.names("BadRequest", status, "task.requirements.placement");
      t.judge.answer("a Seed under its id", await t.calls.seed(request));
    },
  ),
  environmentCheck(
    {
      clause: "ALL-REFUSE-004",
      name: "role",
      title: "Verify: a message of an unknown role is refused by its path.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const [agent] = session.descriptor.agents;
      const item = create(ItemSchema, {
        kind: { case: "chatMessage", value: { role: unknown as Role } },
      });
      const submission = create(SubmissionSchema, {
        agents: [{ agentId: agent?.agentId ?? "", items: [item] }],
      });
      const end = verifyEnd(await session.verify(0, { submission }));
      const status = t.judge.refused("the unknown role", end, refusal);
      t.judge.names("BadRequest", status, "submission.agents[0].items[0].chat_message.role");
      const { submission: bad } = t.must(t.fixture.sample.bad, "environment.sample.bad");
      t.result("a Verify under its index", await session.verify(0, { submission: bad }));
    },
  ),
  environmentCheck(
    {
      clause: "ALL-REFUSE-004",
      name: "item-kind",
      title: "Verify: an item of an unknown kind is refused by its path.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const [agent] = session.descriptor.agents;
      const item = create(ItemSchema, {});
      item.$unknown = laterArm();
      const submission = create(SubmissionSchema, {
        agents: [{ agentId: agent?.agentId ?? "", items: [item] }],
      });
      const end = verifyEnd(await session.verify(0, { submission }));
      t.judge.names(
        "BadRequest",
        t.judge.refused("the unknown item", end, refusal),
        "submission.agents[0].items[0]",
      );
    },
  ),
  environmentCheck(
    {
      clause: "ALL-REFUSE-004",
      name: "action-kind",
      title: "Step: an action of an unknown kind is refused by its path, a known one then taken.",
      features: [Feature.STEP],
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const [known] = firstActions(t);
      const action = create(ActionSchema, { agentId: known?.agentId ?? "" });
      action.$unknown = laterArm();
      const status = t.judge.refused("the unknown action", await session.step(0, [action]), refusal);
      t.judge.names("BadRequest", status, "actions[0]");
      t.judge.answer("a known one", await session.step(0, firstActions(t)));
    },
  ),
];
